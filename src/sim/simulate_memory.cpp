// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/simulate_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"

namespace tandem::sim {
namespace {

using profile::Duration;

/// When a device was given its work, and when it does it in simulated time.
class DeviceTimes {
 public:
  DeviceTimes(Device device,
              const profile::StepRecord& record,
              const profile::StepRecord& simulated) {
    std::map<std::int64_t, Duration> begins;  // by sequence number, which simulating keeps
    for (const profile::WorkSpan& span : simulated.work)
      begins[span.sequence] = span.begin;
    for (const profile::WorkSpan& span : record.work)
      if (span.device == device) times_.emplace_back(span.queued_begin, begins[span.sequence]);
    std::ranges::sort(times_);
    // Time does not go back, where a stream of work begins what was called later first.
    Duration last{};
    for (auto& [given, done] : times_)
      last = done = std::max(last, done);
  }
  /// The simulated time of the last work that was given until then; 0: there was none.
  Duration of(Duration moment) const {
    const auto after = std::ranges::upper_bound(times_, moment, {}, &Pair::first);
    return after == times_.begin() ? Duration{} : std::prev(after)->second;
  }

 private:
  using Pair = std::pair<Duration, Duration>;
  std::vector<Pair> times_;
};

}  // namespace

profile::MemoryProfile simulate_memory(const profile::MemoryProfile& memory,
                                       const profile::StepRecord& record,
                                       const profile::StepRecord& simulated) {
  TANDEM_CHECK(record.work.size() == simulated.work.size(),
               "simulate_memory: the record has ",
               record.work.size(),
               " pieces of work, and the simulated one ",
               simulated.work.size(),
               "; give what simulate made of this very record");
  profile::MemoryProfile result = memory;
  for (profile::DeviceMemory& one : result.devices) {
    const DeviceTimes times(one.device, record, simulated);
    one.peak_at = times.of(one.peak_at);
    for (profile::MemoryMoment& moment : one.timeline)
      moment.at = times.of(moment.at);
  }
  result.duration = simulated.duration;
  return result;
}

}  // namespace tandem::sim
