// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/profile/memory_profile.hpp"
#include "tandem/runtime/runtime.hpp"

// A record of memory against what the devices' allocators say.
namespace tandem::profile::test {

/// What the allocators say at every event.
class Witness final : public Observer {
 public:
  void on_memory(const MemoryEvent& e) noexcept override {
    MemoryStats stats = logical_device(e.device).memory_stats();
    if (e.kind == MemoryEvent::Kind::free) {  // told before it is done
      stats.in_use -= e.nbytes;
      stats.by_category[static_cast<std::size_t>(e.category)] -= e.nbytes;
    }
    const std::scoped_lock lock(mutex_);
    seen_[e.device].push_back(stats);
  }
  const std::vector<MemoryStats>& seen(Device device) { return seen_[device]; }

 private:
  std::mutex mutex_;
  std::map<Device, std::vector<MemoryStats>> seen_;
};

inline std::size_t sum_of(const std::vector<Held>& held) {
  std::size_t sum = 0;
  for (const Held& h : held)
    sum += h.nbytes;
  return sum;
}

/// The record, and all that the witness has seen meanwhile. Peaks must have been reset before.
inline void expect_equal(const MemoryProfile& memory, Witness& witness) {
  ASSERT_TRUE(memory.complete);
  for (const DeviceMemory& m : memory.devices) {
    const MemoryStats stats = logical_device(m.device).memory_stats();
    EXPECT_EQ(m.in_use, stats.in_use);
    EXPECT_EQ(m.peak, stats.peak);
    EXPECT_EQ(sum_of(m.at_peak), m.peak);
    EXPECT_EQ(sum_of(m.now), m.in_use);
    EXPECT_EQ(by_category(m.now), stats.by_category);
    EXPECT_EQ(by_category(m.at_peak), stats.peak_by_category);
    const std::vector<MemoryStats>& seen = witness.seen(m.device);
    ASSERT_EQ(m.timeline.size(), seen.size() + 1);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const MemoryMoment& moment = m.timeline[i + 1];
      ASSERT_EQ(moment.in_use, seen[i].in_use) << "event " << i << " on " << m.device;
      ASSERT_EQ(moment.by_category, seen[i].by_category) << "event " << i << " on " << m.device;
    }
  }
}

}  // namespace tandem::profile::test
