// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// When work was called, and when the device did it: on the host the same, on a GPU its streams
// tell. What it cost.

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/conv.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/profile/trace.hpp"
#include "tandem/runtime/runtime.hpp"

#include "comm/run_ranks.hpp"
#include "devices.hpp"
#include "parallel/nets.hpp"

namespace tandem::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

constexpr Duration kClocks = 500us;  // that a GPU's may be off the host's

TEST(StreamTimesTest, WorkIsDoneAfterItIsCalledAndInOrder) {
  const std::vector<Device> devices = testing::devices(2);
  parallel::test::Cnn net;
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.01});
  parallel::DataParallel<parallel::test::Cnn> dp(net, {.devices = devices});
  const parallel::test::Batch batch = parallel::test::make_batch(9, 1, DType::f64, false);
  const StepRecord record =
      profile::record([&] { dp.step(batch, parallel::test::kLoss, &optimizer); });
  EXPECT_TRUE(record.complete);
  ASSERT_GT(record.work.size(), 20U);
  std::map<Device, Duration> streams;  // when each was done with its last work
  auto work = record.work;
  std::ranges::stable_sort(work, {}, &WorkSpan::queued_end);
  for (const WorkSpan& w : work) {
    EXPECT_LE(w.begin, w.end);
    EXPECT_LE(w.end, record.duration);
    if (!testing::on_gpus()) {
      EXPECT_EQ(w.begin, w.queued_begin);
      EXPECT_EQ(w.end, w.queued_end);
      continue;
    }
    EXPECT_GE(w.begin, w.queued_begin - kClocks) << w.name;
    EXPECT_GE(w.end, w.queued_end - kClocks) << w.name;
    Duration& last = streams[w.device];
    EXPECT_GE(w.end, last) << w.name
                           << ": a stream ends its work in the order in which it was given";
    last = w.end;
  }
}

TEST(StreamTimesTest, AStreamThatIsBusyDoesWorkLater) {
  const Device device = testing::device(0);
  const Tensor a = full({1 << 20}, 1, {.device = device});
  logical_device(device).stream().synchronize();
  StepRecorder recorder;
  {
    const Subscription subscription(recorder);
    const Tensor b = a + a;
    std::this_thread::sleep_for(20ms);
    const Tensor c = b * b;
    logical_device(device).stream().synchronize();
  }
  const StepRecord record = recorder.take();
  ASSERT_EQ(record.work.size(), 2U);
  EXPECT_GE(record.work[1].queued_begin - record.work[0].queued_end, 20ms);
  EXPECT_GE(record.work[1].begin, record.work[0].end);
  EXPECT_GE(record.duration, 20ms);
  EXPECT_TRUE(recorder.take().work.empty()) << "a record is taken once";
}

TEST(StreamTimesTest, ACopyIsUnderWayAfterWhatBothStreamsHadAndBeforeWhatUsesIt) {
  const std::vector<Device> devices = testing::devices(2);
  const Tensor a = full({1 << 16}, 1, {.device = devices[0]});
  const Tensor b = full({1 << 16}, 2, {.device = devices[1]});
  const StepRecord record = profile::record([&] {
    const Tensor there = a + a;
    const Tensor here = b + b;
    std::this_thread::sleep_for(5ms);
    const Tensor sum = there.to(devices[1]) * here;
  });
  EXPECT_TRUE(record.complete);
  ASSERT_EQ(record.transfers.size(), 1U);
  const Transfer& t = record.transfers.front();
  EXPECT_EQ(t.nbytes, std::size_t{4} << 16);
  EXPECT_GE(t.queued_begin, 5ms);
  EXPECT_LE(t.begin, t.end);
  EXPECT_GE(t.begin, t.queued_begin - kClocks);
  if (!testing::on_gpus()) {
    EXPECT_EQ(t.begin, t.queued_begin);
  }
  int before = 0, after = 0;
  for (const WorkSpan& w : record.work) {
    if (w.queued_end <= t.queued_begin) {
      ++before;
      EXPECT_LE(w.end, t.begin) << w.name;
    } else {
      ++after;
      EXPECT_GE(w.begin, t.end) << w.name;
    }
  }
  EXPECT_EQ(before, 2);
  EXPECT_EQ(after, 1);
}

TEST(StreamTimesTest, ACollectiveIsUnderWayOnSideStreamsWhileMainStreamsWaitForIt) {
  constexpr int kRanks = 2;
  testing::Group group = testing::make_group(kRanks);
  std::vector<Tensor> x;
  for (const Device d : testing::devices(kRanks))
    x.push_back(full({1 << 16}, 1, {.device = d}));
  const StepRecord record = profile::record([&] {
    testing::run_ranks(group, [&](comm::Communicator& comm) {
      Tensor& own = x[static_cast<std::size_t>(comm.rank())];
      own.mul_(2);
      comm.all_reduce(own);
      own.mul_(3);
    });
  });
  EXPECT_EQ(x[0].to_doubles().back(), 12);
  EXPECT_TRUE(record.complete);
  EXPECT_EQ(record.side_work.size(), testing::on_gpus() ? 2U : 0U);
  EXPECT_EQ(record.transfers.size(), 2U);
  for (const WorkSpan& w : record.work) {
    if (std::string_view(w.name) != "mul_") continue;
    const bool first = std::ranges::none_of(record.work, [&](const WorkSpan& v) {
      return v.device == w.device && v.queued_begin < w.queued_begin;
    });
    for (const SideSpan& s : record.side_work) {
      EXPECT_STREQ(s.name, "all_reduce");
      if (s.device != w.device) continue;
      EXPECT_TRUE(first ? w.end <= s.begin : s.end <= w.begin);
    }
    for (const Transfer& t : record.transfers)
      EXPECT_TRUE(first ? w.end <= t.begin + kClocks : t.end <= w.begin + kClocks);
  }
  for (const SideSpan& s : record.side_work) {
    const auto waits = [&](const WorkSpan& w) {
      return w.device == s.device && std::string_view(w.name) == "all_reduce" && s.end <= w.end;
    };
    EXPECT_TRUE(std::ranges::any_of(record.work, waits)) << "its main stream goes on after it";
  }
}

// Gathered values are waited for layer by layer in the next forward: by a GPU's stream.
TEST(StreamTimesTest, WaitingForValuesOnTheirWayIsWorkOfACollective) {
  parallel::test::Cnn net;
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.01});
  parallel::DataParallel<parallel::test::Cnn> dp(
      net, {.devices = testing::devices(2), .mode = parallel::Mode::sharded});
  const parallel::test::Batch batch = parallel::test::make_batch(9, 1, DType::f64, false);
  dp.step(batch, parallel::test::kLoss, &optimizer);
  const StepRecord record =
      profile::record([&] { dp.step(batch, parallel::test::kLoss, &optimizer); });
  std::map<Device, int> waits;
  for (const WorkSpan& w : record.work) {
    waits[w.device] += w.exchange && w.exchange->point == Exchange::Point::use;
    if (w.exchange && w.exchange->point == Exchange::Point::use) {
      EXPECT_EQ(w.phase, Phase::replicate);
      EXPECT_STREQ(w.name, "all_gather");
    }
  }
  for (const auto& [device, count] : waits)
    EXPECT_GT(count, 0) << device << ": on the host the values are there, but a GPU would wait";
}

TEST(StreamTimesTest, ATraceHasTheStreamsOfGpus) {
  const Device device = testing::device(0);
  const Tensor a = full({8}, 1, {.device = device});
  const std::string trace = trace_json(profile::record([&] { a + a; }));
  EXPECT_THAT(trace, HasSubstr("thread 0"));
  if (testing::on_gpus())
    EXPECT_THAT(trace, HasSubstr("main stream"));
  else
    EXPECT_THAT(trace, Not(HasSubstr("main stream")));
}

TEST(WorkCostTest, AConvolutionOfGroupsIsAProductForEachOfThem) {
  Tensor x = randn({2, 8, 5, 7}), weight = randn({12, 2, 3, 3});
  for (Tensor* leaf : {&x, &weight})
    leaf->requires_grad_();
  const StepRecord record = profile::record([&] {
    conv2d(x, weight, {}, {.padding = {1, 1}, .groups = 4}).backward(ones({2, 12, 5, 7}));
  });
  std::vector<std::string_view> names;
  for (const WorkSpan& span : record.work) {
    if (span.kind != Work::Kind::conv) continue;
    names.emplace_back(span.name);
    EXPECT_EQ(span.cost.mnk.m, 4 * 2 * 5 * 7) << span.name << ": the pixels, for each group";
    EXPECT_EQ(span.cost.mnk.n, 3) << span.name << ": channels of a group's result";
    EXPECT_EQ(span.cost.mnk.k, 2 * 3 * 3) << span.name << ": terms of a sum";
    EXPECT_EQ(span.cost.flops, 2.0 * (2 * 12 * 5 * 7) * 18) << span.name;
  }
  EXPECT_THAT(names,
              ::testing::UnorderedElementsAre("conv2d", "conv2d_input_grad", "conv2d_weight_grad"));
}

}  // namespace
}  // namespace tandem::profile
