// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/host/host_timer.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "tandem/core/percentile.hpp"
#include "tandem/parallel/run_ranks.hpp"

namespace tandem::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 120;
constexpr double kRound = 1e-3;  // seconds of a round, about: less than other programs' turns
constexpr double kUndisturbed = 0.05;
constexpr int kMostCalls = 100'000;

double seconds_of(const HostTimer::Work& work, int calls) {
  const auto begin = Clock::now();
  for (int i = 0; i < calls; ++i)
    work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

double HostTimer::seconds(const MakeWork& make_work) const {
  std::vector<double> times;
  std::mutex mutex;  // guards times
  parallel::run_ranks(devices_, [&](parallel::Rank& rank) {
    const Work work = make_work(rank);
    work();  // fills caches, those of the allocator among them
    const double once = std::max(seconds_of(work, 1), 1e-8);
    const int calls = std::clamp(static_cast<int>(kRound / once), 1, kMostCalls);
    for (int round = 0; round < kRounds; ++round) {
      rank.comm().barrier();
      const double seconds = seconds_of(work, calls) / calls;
      const std::scoped_lock lock(mutex);
      times.push_back(seconds);
    }
  });
  return percentile(times, kUndisturbed);
}

}  // namespace tandem::cli
