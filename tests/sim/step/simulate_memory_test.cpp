// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/simulate_memory.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

namespace tandem::sim {
namespace {

using namespace std::chrono_literals;
using profile::DeviceMemory;
using profile::MemoryProfile;
using profile::StepRecord;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Device kGpu{DeviceType::cpu, 1}, kOther{DeviceType::cpu, 2};

profile::WorkSpan span(Device device, std::int64_t sequence, profile::Duration begin) {
  profile::WorkSpan span{};
  span.device = device;
  span.sequence = sequence;
  span.begin = begin;
  return span;
}

/// Three pieces of work of one device, and one of another, in the order of simulated time.
StepRecord simulated() {
  StepRecord record;
  record.work = {
      span(kGpu, 1, 100us), span(kGpu, 4, 250us), span(kGpu, 3, 300us), span(kOther, 2, 500us)};
  record.duration = 900us;
  return record;
}

/// With one byte more at each moment, so that the last is the peak.
DeviceMemory memory_of(Device device, std::initializer_list<std::size_t> works) {
  DeviceMemory memory{.device = device};
  for (const std::size_t n : works)
    memory.timeline.push_back({7us, Phase::forward, ++memory.peak, {}, n});
  memory.peak_at = 7us;
  return memory;
}

TEST(SimulateMemory, AMomentIsWhenTheWorkGivenBeforeItBegins) {
  MemoryProfile memory{.devices = {memory_of(kGpu, {0, 1, 1, 2, 3}), memory_of(kOther, {0, 1})}};
  memory.devices[0].timeline[4].in_use = 2;
  memory.devices[0].peak = 4;
  const MemoryProfile result = simulate_memory(memory, simulated());
  std::vector<profile::Duration> moments;
  for (const DeviceMemory& one : result.devices)
    for (const profile::MemoryMoment& moment : one.timeline)
      moments.push_back(moment.at);
  EXPECT_THAT(moments, ::testing::ElementsAre(0us, 100us, 100us, 300us, 300us, 0us, 500us))
      << "and time does not go back";
  EXPECT_EQ(result.devices[0].peak_at, 300us);
  EXPECT_EQ(result.devices[0].peak, 4U);
  EXPECT_EQ(result.duration, 900us);
}

TEST(SimulateMemory, TheRecordsBelongTogether) {
  EXPECT_THAT([] { simulate_memory({.devices = {memory_of(kOther, {2})}}, simulated()); },
              ThrowsMessage<InvalidArgument>(
                  HasSubstr("cpu:2 had been given 2 pieces of work, and has 1 in the simulated")));
}

}  // namespace
}  // namespace tandem::sim
