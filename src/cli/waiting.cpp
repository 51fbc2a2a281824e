// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/waiting.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <unistd.h>

#include "tandem/runtime/runtime.hpp"

#include "runtime/cpu_quota.hpp"

namespace tandem::cli {
namespace {

/// Looks of a waiting thread at what it waits for, some tenths of a millisecond: a core that is the
/// program's alone is given up between steps only. libgomp's own 300,000 last ten times as long.
constexpr const char* kSpins = "20000";

/// Threads of all processes that run or want to, this one included; 0 where the system does not
/// say.
int running_threads() noexcept {
  int running = 0;
  if (std::FILE* file = std::fopen("/proc/loadavg", "r")) {
    if (std::fscanf(file, "%*f %*f %*f %d/", &running) != 1) running = 0;
    std::fclose(file);
  }
  return running;
}

/// This program's threads will not have a core each, since others use them, or by a quota. One look
/// at the others is not enough: what runs for a millisecond does not count.
bool cores_are_shared() noexcept {
  constexpr int kLooks = 5;
  if (const auto quota = cpu_quota(); quota && *quota < core_count()) return true;
  const auto cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  for (int i = 0; i < kLooks; ++i) {
    const int others = running_threads() - 1;
    if (others + core_count() <= cores) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

void choose_waiting(char** arguments) noexcept {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  const int set = cores_are_shared() ? ::setenv("OMP_WAIT_POLICY", "passive", 1)
                                     : ::setenv("GOMP_SPINCOUNT", kSpins, 1);
  if (set == 0) ::execv("/proc/self/exe", arguments);  // where it fails, threads wait as they do
}

}  // namespace tandem::cli
