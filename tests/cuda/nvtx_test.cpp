// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/profile/nvtx.hpp"

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/dispatch.hpp"

#include "cuda/gpus.hpp"
#include "cuda/training.hpp"
#include "stand_in/nvtx.hpp"

namespace tandem::cuda::test {
namespace {

using profile::NvtxRanges;
using stand_in::NvtxEvent;
using Kind = NvtxEvent::Kind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using NoToolTest = GpusTest;

/// A process that a tool watches.
class NvtxTest : public GpusTest {
 protected:
  NvtxTest() { setenv("NVTX_INJECTION64_PATH", TANDEM_STAND_IN_NVTX, 1); }
};

/// The names of the ranges that `events` are made of; each ends on its thread.
std::multiset<std::string> ranges(const std::vector<NvtxEvent>& events) {
  std::map<std::thread::id, int> depth;
  std::multiset<std::string> names;
  for (const NvtxEvent& e : events) {
    EXPECT_EQ(e.domain, "tandem");
    if (e.kind == Kind::push) {
      ++depth[e.thread];
      names.insert(e.text);
    } else if (e.kind == Kind::pop) {
      EXPECT_GT(depth[e.thread]--, 0) << "a range ends that has not begun on its thread";
    }
  }
  for (const auto& [thread, open] : depth)
    EXPECT_EQ(open, 0) << "ranges that do not end";
  return names;
}

/// "forward hidden matmul", of what another observer has seen.
std::string name_of(const profile::WorkSpan& work) {
  std::string text;
  if (work.phase != Phase::none) text = std::string(name(work.phase)) + ' ';
  if (work.module_path != nullptr && !work.module_path->empty()) text += *work.module_path + ' ';
  return text + work.name;
}

TEST_F(NvtxTest, EachPieceOfWorkOfAStepIsARangeOnItsThread) {
  Training training({gpu(0), gpu(2)});
  NvtxRanges nvtx;
  const auto record = profile::record([&] {
    const Subscription subscription(nvtx);
    training.step();
  });
  const std::vector<NvtxEvent> events = stand_in::take_nvtx_events();
  std::multiset<std::string> expected;
  for (const profile::WorkSpan& work : record.work)
    expected.insert(name_of(work));
  EXPECT_EQ(ranges(events), expected);
  EXPECT_THAT(expected, Contains("backward hidden matmul"));
  std::set<std::thread::id> threads;
  for (const NvtxEvent& e : events)
    threads.insert(e.thread);
  EXPECT_GE(threads.size(), 2u) << "a thread for each device";
}

TEST_F(NvtxTest, RangesNestAsTheWorkDoes) {
  NvtxRanges nvtx;
  {
    const Subscription subscription(nvtx);
    Stream& stream = logical_device(gpu(0)).stream();
    const ContextScope scope([](Context& c) {
      c.phase = Phase::backward;
      c.module_path = std::make_shared<std::string>("net.conv1");
    });
    dispatch(stream, {.name = "outer"}, [&](auto&) {
      dispatch(stream, {.name = "inner"}, [](auto&) {});
    });
  }
  std::vector<std::string> seen;
  for (const NvtxEvent& e : stand_in::take_nvtx_events())
    if (e.kind != Kind::name) seen.push_back(e.text);
  EXPECT_THAT(seen, ElementsAre("backward net.conv1 outer", "backward net.conv1 inner", "", ""));
}

TEST_F(NvtxTest, NothingIsToldAfterTheSubscription) {
  NvtxRanges nvtx;
  const Tensor x = tensor_of({1, 2}, gpu(0));
  {
    const Subscription subscription(nvtx);
    mul(x, 2);
  }
  EXPECT_EQ(ranges(stand_in::take_nvtx_events()), std::multiset<std::string>{"mul"});
  mul(x, 2);
  EXPECT_THAT(stand_in::take_nvtx_events(), IsEmpty());
}

TEST_F(NvtxTest, WorkThatThrowsEndsItsRange) {
  NvtxRanges nvtx;
  const Subscription subscription(nvtx);
  for (const Device device : {gpu(0), Device{}}) {
    EXPECT_THROW(
        dispatch(logical_device(device).stream(), {.name = "failing"}, [](auto&) { throw 1; }),
        int);
    EXPECT_EQ(ranges(stand_in::take_nvtx_events()), std::multiset<std::string>{"failing"});
  }
  const Tensor x = tensor_of({1, 2}, gpu(0));
  stand_in::take_nvtx_events();
  stand_in::fail_call("cudaLaunchKernel", 1, 999);
  EXPECT_THROW(mul(x, 2), DeviceError);
  EXPECT_EQ(ranges(stand_in::take_nvtx_events()), std::multiset<std::string>{"mul"});
}

TEST_F(NvtxTest, ANameIsMadeKnownOnce) {
  Training training({gpu(0), gpu(2)});
  NvtxRanges nvtx;
  const Subscription subscription(nvtx);
  training.step();
  std::set<std::string> names, pushed;
  for (const NvtxEvent& e : stand_in::take_nvtx_events()) {
    if (e.kind == Kind::push) pushed.insert(e.text);
    if (e.kind == Kind::name) {
      EXPECT_TRUE(names.insert(e.text).second) << e.text;
    }
  }
  EXPECT_EQ(names, pushed);
  training.step();
  for (const NvtxEvent& e : stand_in::take_nvtx_events())
    if (e.kind == Kind::name) {
      EXPECT_TRUE(names.insert(e.text).second) << e.text;
    }
}

TEST_F(NvtxTest, TheDomainEndsWithTheRanges) {
  {
    const NvtxRanges nvtx;
    EXPECT_EQ(stand_in::live_nvtx_domains(), 1);
  }
  EXPECT_EQ(stand_in::live_nvtx_domains(), 0);
}

TEST_F(NoToolTest, NothingHappens) {
  unsetenv("NVTX_INJECTION64_PATH");
  NvtxRanges nvtx;
  const Subscription subscription(nvtx);
  EXPECT_EQ(mul(tensor_of({1, 2}, gpu(0)), 2).to_doubles(), (std::vector<double>{2, 4}));
  EXPECT_THAT(stand_in::take_nvtx_events(), IsEmpty());
  EXPECT_EQ(stand_in::live_nvtx_domains(), 0);
}

}  // namespace
}  // namespace tandem::cuda::test
