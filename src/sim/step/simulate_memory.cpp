// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/simulate_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"

namespace tandem::sim {
namespace {

using profile::Duration;

/// When a device does its pieces of work.
class DeviceTimes {
 public:
  DeviceTimes(Device device, const profile::StepRecord& simulated) : device_(device) {
    for (const profile::WorkSpan& span : simulated.work)
      if (span.device == device) times_.emplace_back(span.sequence, span.begin);
    std::ranges::sort(times_);
    // Time does not go back, where a stream of work begins what was called later first.
    Duration last{};
    for (auto& [sequence, begin] : times_)
      last = begin = std::max(last, begin);
  }
  /// When the last of so many pieces begins.
  Duration of(std::size_t works) const {
    TANDEM_CHECK(
        works <= times_.size(),
        "simulate_memory: ",
        device_,
        " had been given ",
        works,
        " pieces of work, and has ",
        times_.size(),
        " in the simulated record; give what simulate made of the record of the same steps");
    return works == 0 ? Duration{} : times_[works - 1].second;
  }

 private:
  Device device_;
  std::vector<std::pair<std::int64_t, Duration>> times_;  // in the order in which it was given them
};

}  // namespace

profile::MemoryProfile simulate_memory(const profile::MemoryProfile& memory,
                                       const profile::StepRecord& simulated) {
  profile::MemoryProfile result = memory;
  for (profile::DeviceMemory& one : result.devices) {
    const DeviceTimes times(one.device, simulated);
    for (profile::MemoryMoment& moment : one.timeline)
      moment.at = times.of(moment.works);
    const auto peak = std::ranges::find(one.timeline, one.peak, &profile::MemoryMoment::in_use);
    one.peak_at = peak == one.timeline.end() ? Duration{} : peak->at;
  }
  result.duration = simulated.duration;
  return result;
}

}  // namespace tandem::sim
