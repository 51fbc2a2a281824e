// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/limits.hpp"

#include <algorithm>
#include <fstream>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/runtime.hpp"

namespace tandem::cli {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kStack = std::size_t{256} << 10;

/// What a limit has to leave: measured on runs of cnn-small and gpt with 1 to 8 devices, which hung
/// or crashed in OpenBLAS and oneDNN below. Each thread that multiplies takes a buffer of OpenBLAS
/// and an arena of malloc.
struct Need {
  std::size_t base, each;  ///< bytes, of the program and of a device
  std::size_t of(std::size_t devices) const { return base + each * devices; }
};
constexpr Need kAddressSpace{448 * kMiB, 160 * kMiB};
constexpr Need kData{256 * kMiB, 64 * kMiB};

/// Bytes; SIZE_MAX: none.
std::size_t limit_of(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return SIZE_MAX;
  return limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : static_cast<std::size_t>(limit.rlim_cur);
}

void check_memory(int resource, Need need, std::size_t devices, const char* what) {
  const std::size_t limit = limit_of(resource), least = need.of(devices);
  if (limit >= least) return;
  throw Error(
      fmt::format("the limit on {} is {}, but a run on {} needs at least {}; raise it ({}), or "
                  "give fewer devices",
                  what,
                  format_nbytes(limit),
                  devices == 1 ? "1 device" : fmt::format("{} devices", devices),
                  format_nbytes(least),
                  resource == RLIMIT_AS ? "ulimit -v" : "ulimit -d"));
}

/// How many threads of so many can be there at once.
std::size_t threads_that_start(std::size_t wanted) {
  std::latch end(1);
  std::vector<std::jthread> threads;
  threads.reserve(wanted);
  try {
    while (threads.size() < wanted)
      threads.emplace_back([&end] { end.wait(); });
  } catch (const std::system_error&) {  // the answer
  }
  end.count_down();
  return threads.size();
}

/// Bytes of address space that this process has.
std::size_t held_memory() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Bytes that could be taken without ending another program; SIZE_MAX where the system does not
/// say.
std::size_t machine_memory() {
  std::ifstream in("/proc/meminfo");
  std::size_t free = 0, lines = 0;
  for (std::string name, unit; lines < 2 && in >> name;) {
    std::size_t kib = 0;
    in >> kib;
    std::getline(in, unit);
    if (name != "MemAvailable:" && name != "SwapFree:") continue;
    free += kib << 10;
    ++lines;
  }
  return lines == 2 ? free : SIZE_MAX;
}

}  // namespace

void check_stack() {
  const std::size_t limit = limit_of(RLIMIT_STACK);
  if (limit >= kStack) return;
  throw Error(
      fmt::format("the limit on the stack is {} bytes, but tandem needs at least {}; raise it "
                  "(ulimit -s 8192)",
                  limit,
                  kStack));
}

void check_limits(std::size_t devices) {
  check_memory(RLIMIT_AS, kAddressSpace, devices, "address space");
  check_memory(RLIMIT_DATA, kData, devices, "data");
  const auto cores = static_cast<std::size_t>(core_count());
  const std::size_t wanted = devices * std::max<std::size_t>(1, cores / devices);
  const std::size_t started = threads_that_start(wanted);
  if (started == wanted) return;
  throw Error(
      fmt::format("only {} of {} threads can be started; raise the limit on processes (ulimit -u, "
                  "or the container's), or give fewer devices",
                  started,
                  wanted));
}

std::size_t available_host_memory() {
  std::size_t free = machine_memory();
  const std::size_t limit = limit_of(RLIMIT_AS), held = held_memory();
  if (limit != SIZE_MAX) free = std::min(free, limit > held ? limit - held : 0);
  std::size_t most = 0, used = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> most &&
      std::ifstream("/sys/fs/cgroup/memory.current") >> used)
    free = std::min(free, std::max(most, used) - used);
  return free;
}

std::string describe_host_memory() {
  const std::size_t held = held_memory();
  const std::size_t limit = limit_of(RLIMIT_AS);
  struct sysinfo machine {};
  ::sysinfo(&machine);
  return fmt::format(
      "the process has {} of address space (limit {}), and the machine has {} of memory, {} of it "
      "free",
      format_nbytes(held),
      limit == SIZE_MAX ? "none" : format_nbytes(limit),
      format_nbytes(machine.totalram * machine.mem_unit),
      format_nbytes(machine.freeram * machine.mem_unit));
}

}  // namespace tandem::cli
