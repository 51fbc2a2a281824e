// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/machine/machine.hpp"

#include <cstring>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::stand_in {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MachineTest : public ::testing::Test {
 protected:
  /// What a kernel does to memory, on a stream of GPU 0 or another one.
  bool kernel(CUstream_st* s, const void* bytes, std::size_t n, bool writes, const char* what) {
    machine.begin_kernel(s);
    const bool is_there = machine.use(s, bytes, n, writes, what);
    Machine::end_kernel(s);
    return is_there;
  }
  const std::vector<std::string>& reports() const { return machine.reports.texts(); }

  Machine machine{{.gpus = 2, .gpu_bytes = 1 << 20, .deadline = std::chrono::seconds(1)}};
  CUstream_st* const main = machine.stream(nullptr, 0);
  CUstream_st* const side = machine.make_stream(0, 0);
  char* const p = static_cast<char*>(machine.allocate(0, 4096));
};

TEST_F(MachineTest, ReportsAReadWithoutAWaitByName) {
  kernel(main, p, 100, true, "fill");
  kernel(side, p + 50, 100, false, "sum");
  EXPECT_THAT(reports(),
              ElementsAre("race: read by 'sum' on stream 2 of GPU 0 without a wait for the write "
                          "by 'fill' on stream 0 of GPU 0"));
}

TEST_F(MachineTest, ReportsAWriteOverWhatIsStillRead) {
  kernel(main, p, 100, true, "fill");
  CUevent_st event{0, false};
  machine.record(main, &event);
  Machine::wait(side, event.mark);
  kernel(side, p, 100, false, "sum");
  EXPECT_THAT(reports(), IsEmpty());
  kernel(main, p, 100, true, "zero");
  EXPECT_THAT(reports(),
              ElementsAre("race: write by 'zero' on stream 0 of GPU 0 without a wait for the read "
                          "by 'sum' on stream 2 of GPU 0"));
}

TEST_F(MachineTest, KnowsBytesApart) {
  kernel(main, p, 100, true, "fill");
  kernel(side, p + 100, 100, true, "other");
  kernel(side, p + 200, 100, false, "sum");
  EXPECT_THAT(reports(), IsEmpty());
}

TEST_F(MachineTest, KnowsWhichPartOfAWriteWasRead) {
  kernel(main, p, 200, true, "fill");
  machine.drain(main);
  kernel(side, p, 100, false, "sum");
  kernel(main, p + 100, 100, true, "other");
  EXPECT_THAT(reports(), IsEmpty());
  kernel(main, p + 99, 1, true, "other");
  EXPECT_EQ(reports().size(), 1);
}

TEST_F(MachineTest, AFreeWaitsForTheGpu) {
  bool has_run = false;
  machine.next_task(side);
  Machine::push(side, {.run = [&] { has_run = true; }});
  machine.free(p);
  EXPECT_TRUE(has_run);
}

TEST_F(MachineTest, AWaitOfTheHostComesBeforeWhatTheThreadAsksForLater) {
  kernel(main, p, 100, true, "fill");
  machine.drain(main);
  kernel(side, p, 100, false, "sum");
  EXPECT_THAT(reports(), IsEmpty());
}

TEST_F(MachineTest, AWaitOfOneThreadIsNoneOfAnother) {
  kernel(main, p, 100, true, "fill");
  std::thread([&] { machine.drain(main); }).join();
  std::thread([&] { kernel(side, p, 100, false, "sum"); }).join();
  EXPECT_EQ(reports().size(), 1);
}

TEST_F(MachineTest, ALockTakesWhatAThreadKnowsToTheNext) {
  kernel(main, p, 100, true, "fill");
  std::thread([&] {
    machine.drain(main);
    HostKnowledge::get().leave(this);
  }).join();
  std::thread([&] {
    HostKnowledge::get().enter(this);
    kernel(side, p, 100, false, "sum");
  }).join();
  EXPECT_THAT(reports(), IsEmpty());
}

TEST_F(MachineTest, TasksOfAStreamRunLateAndInOrder) {
  std::string order;
  for (const char c : {'a', 'b', 'c'})
    Machine::push(side, {.run = [&order, c] { order += c; }});
  EXPECT_EQ(order, "");
  machine.drain(side);
  EXPECT_EQ(order, "abc");
}

TEST_F(MachineTest, AnotherSeedIsAnotherOrder) {
  const auto run = [](std::uint64_t seed) {
    Machine m({.gpus = 1, .seed = seed});
    std::string order;
    for (int i = 0; i < 8; ++i)
      Machine::push(m.make_stream(0, 0), {.run = [&order, i] { order += std::to_string(i); }});
    m.finish([&] { return order.size() == 8; }, "all");
    return order;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST_F(MachineTest, TheHostFindsAGpusBytesAtTheirSecondAddress) {
  std::memcpy(machine.memory.host(p), "abc", 4);
  EXPECT_STREQ(static_cast<const char*>(machine.memory.host(p)), "abc");
  EXPECT_NE(machine.memory.host(p), p);
  EXPECT_EQ(machine.memory.host(this), this);
}

TEST_F(MachineTest, FreshMemoryIsNotZero) {
  EXPECT_EQ(static_cast<unsigned char*>(machine.memory.host(p))[4095], 0xCD);
}

TEST_F(MachineTest, ReportsMemoryThatWasFreed) {
  ASSERT_TRUE(machine.free(p));
  EXPECT_FALSE(machine.free(p));
  EXPECT_FALSE(kernel(main, p, 100, false, "sum"));
  ASSERT_EQ(reports().size(), 1);
  EXPECT_THAT(reports()[0],
              HasSubstr("'sum' on stream 0 of GPU 0 uses memory that is not allocated"));
  EXPECT_EQ(machine.error(0), 700);
  EXPECT_EQ(machine.error(1), 0);
}

TEST_F(MachineTest, WhoWaitsForAGpuThatFailedFailsToo) {
  machine.error(0) = 700;
  CUevent_st event{0, false};
  machine.record(main, &event);
  machine.drain(main);
  EXPECT_EQ(machine.error(1), 0);
  CUstream_st* const other = machine.stream(nullptr, 1);
  Machine::wait(other, event.mark);
  machine.drain(other);
  EXPECT_EQ(machine.error(1), 700);
}

TEST_F(MachineTest, ReportsMemoryPastABlocksEnd) {
  EXPECT_FALSE(kernel(main, p + 4000, 100, true, "fill"));
  EXPECT_THAT(reports(), ElementsAre(HasSubstr("uses memory past the end of its block")));
}

TEST_F(MachineTest, AGpuIsFull) {
  EXPECT_EQ(machine.allocate(0, 1 << 20), nullptr);
  EXPECT_NE(machine.allocate(1, 1 << 20), nullptr);
  machine.free(p);
  EXPECT_NE(machine.allocate(0, 1 << 20), nullptr);
}

TEST_F(MachineTest, AnotherProcessTakesOfAGpu) {
  const std::size_t before = machine.free_bytes(0);
  EXPECT_TRUE(machine.occupy(0, 7, before));
  EXPECT_EQ(machine.allocate(0, 1), nullptr);
  EXPECT_FALSE(machine.occupy(0, 8, 1));
  EXPECT_TRUE(machine.occupy(0, 7, 0));
  EXPECT_EQ(machine.free_bytes(0), before);
}

TEST_F(MachineTest, WhatNobodyTellsOfAnotherProcessIsFree) {
  const std::size_t before = machine.free_bytes(0);
  EXPECT_TRUE(machine.occupy(0, 7, kUntold));
  EXPECT_EQ(machine.free_bytes(0), before);
  EXPECT_FALSE(machine.occupy(0, 7, before + 1));
  machine.forget_others(0);
  EXPECT_TRUE(machine.others(0).empty());
}

TEST_F(MachineTest, MemoryInTheOrderOfAStreamIsUsedInIt) {
  void* const q = machine.allocate(main, 100, "allocate");
  kernel(side, q, 100, true, "fill");
  EXPECT_THAT(reports(), ElementsAre(HasSubstr("without a wait for the write by 'allocate'")));
  machine.reports.forget();
  machine.free(main, q, "free");
  EXPECT_THAT(reports(), ElementsAre(HasSubstr("without a wait for the write by 'fill'")));
}

TEST_F(MachineTest, APieceThatGoesTakesNothingOfTheNextOne) {
  std::byte* const begin = machine.memory.reserve(8192);
  machine.map({begin, 4096, 0});
  machine.map({begin + 4096, 4096, 0});
  EXPECT_TRUE(kernel(main, begin, 8192, true, "fill"));
  machine.unmap(begin);
  kernel(side, begin + 4096, 1, false, "sum");
  EXPECT_THAT(reports(), ElementsAre(HasSubstr("without a wait for the write by 'fill'")));
  EXPECT_FALSE(kernel(main, begin, 1, true, "fill"));
}

TEST_F(MachineTest, AWaitThatNothingEndsIsADeadlockByName) {
  Machine::push(side, {.after = std::make_shared<Mark>()});
  EXPECT_DEATH(machine.drain(side), "deadlock: the host waits for ever for stream 2 of GPU 0");
}

}  // namespace
}  // namespace tandem::stand_in
