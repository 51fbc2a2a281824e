// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/simulate_memory.hpp"

#include <algorithm>
#include <chrono>
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

profile::WorkSpan span(Device device, profile::Duration begin) {
  profile::WorkSpan span{};
  span.device = device;
  span.begin = span.queued_begin = begin;
  return span;
}

/// Three pieces of work that were called at 10, 20 and 30 us, and what they became.
struct Records {
  Records() {
    measured.work = {span(kGpu, 10us), span(kOther, 12us), span(kGpu, 20us), span(kGpu, 30us)};
    for (std::size_t i = 0; i < measured.work.size(); ++i)
      measured.work[i].sequence = static_cast<std::int64_t>(i) + 1;
    simulated = measured;
    simulated.duration = 900us;
    simulated.work[0].begin = 100us;
    simulated.work[1].begin = 500us;
    simulated.work[2].begin = 300us;
    simulated.work[3].begin = 250us;  // on another stream
    std::ranges::reverse(simulated.work);
  }
  StepRecord measured, simulated;
};

DeviceMemory memory_of(Device device, std::initializer_list<profile::Duration> moments) {
  DeviceMemory memory{.device = device};
  for (const profile::Duration at : moments)
    memory.timeline.push_back({at, Phase::forward, 8, {}});
  return memory;
}

TEST(SimulateMemory, AMomentIsWhenTheWorkGivenBeforeItBegins) {
  const Records records;
  MemoryProfile memory{
      .devices = {memory_of(kGpu, {0us, 10us, 19us, 25us, 40us}), memory_of(kOther, {11us, 13us})}};
  memory.devices[0].peak_at = 25us;
  memory.devices[0].peak = 64;
  const MemoryProfile result = simulate_memory(memory, records.measured, records.simulated);
  std::vector<profile::Duration> moments;
  for (const DeviceMemory& one : result.devices)
    for (const profile::MemoryMoment& moment : one.timeline)
      moments.push_back(moment.at);
  EXPECT_THAT(moments, ::testing::ElementsAre(0us, 100us, 100us, 300us, 300us, 0us, 500us))
      << "and time does not go back";
  EXPECT_EQ(result.devices[0].peak_at, 300us);
  EXPECT_EQ(result.devices[0].peak, 64U);
  EXPECT_EQ(result.duration, 900us);
}

TEST(SimulateMemory, TheRecordsBelongTogether) {
  Records records;
  records.simulated.work.pop_back();
  EXPECT_THAT(
      [&] { simulate_memory({}, records.measured, records.simulated); },
      ThrowsMessage<InvalidArgument>(HasSubstr("4 pieces of work, and the simulated one 3")));
}

}  // namespace
}  // namespace tandem::sim
