// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What a record of a GPU's work makes of refusals: the work goes on, and the record says that it
// has not all.

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/profile/step_record.hpp"

#include "cuda/collectives.hpp"
#include "cuda/gpus.hpp"
#include "runtime/gpu/stream_clock.hpp"

namespace tandem::cuda::test {
namespace {

class StreamTimesFaultTest : public GpusTest {};
class BareStreamTimesTest : public BareTest {};
class StreamClockTest : public GpusTest {};

// Milliseconds in f32 are 62 us apart after ten minutes, 8 us after one.
TEST_F(StreamClockTest, IsAsExactAfterTenMinutesAsAtFirst) {
  const Stream& stream = logical_device(gpu(0)).stream();
  StreamClock clock;
  clock.calibrate(stream);
  std::shared_ptr<const StreamPoint> earlier;
  for (int minute = 0; minute <= 10; ++minute) {
    std::vector<std::shared_ptr<const StreamPoint>> points;
    for (int i = 0; i < 8; ++i) {
      keep_busy(gpu(0));
      points.push_back(point_of(stream));
    }
    StreamClock::Moment last = clock.at(points.front());
    for (std::size_t i = 1; i < points.size(); ++i) {
      const StreamClock::Moment now = clock.at(points[i]);
      const std::chrono::duration<double, std::milli> between = now - last;
      EXPECT_NEAR(between.count(), points[i]->since(*points[i - 1]), 2e-3) << minute;
      last = now;
    }
    if (earlier != nullptr) clock.at(earlier);  // it is not always asked in order
    earlier = points.front();
    stand_in::pass(std::chrono::minutes(1));
  }
}

TEST_F(StreamTimesFaultTest, ARefusedMarkLeavesTheTimeToQueue) {
  const Tensor a = full({8}, 1, {.dtype = DType::f64, .device = gpu(0)});
  for (const char* call : {"cudaEventRecord", "cudaEventElapsedTime", "cudaEventQuery"}) {
    SCOPED_TRACE(call);
    profile::StepRecorder recorder;
    Tensor sum;
    {
      const Subscription subscription(recorder);
      stand_in::fail_call(call, 1, 999);
      sum = a + a;
    }
    const profile::StepRecord record = recorder.take();
    EXPECT_FALSE(record.complete);
    ASSERT_EQ(record.work.size(), 1U);
    EXPECT_EQ(record.work[0].begin, record.work[0].queued_begin);
    EXPECT_EQ(sum.to_doubles(), std::vector<double>(8, 2));
    EXPECT_TRUE(profile::record([&] { a + a; }).complete) << "and the next is whole";
  }
}

TEST_F(StreamTimesFaultTest, SoDoesARefusedMarkOfACopy) {
  const Tensor a = full({8}, 2, {.dtype = DType::f64, .device = gpu(0)});
  for (const int call : {1, 2, 5}) {  // the beginning on both streams, the end on one
    profile::StepRecorder recorder;
    Tensor there;
    {
      const Subscription subscription(recorder);
      stand_in::fail_call("cudaEventRecord", call, 999);
      there = a.to(gpu(2));
    }
    const profile::StepRecord record = recorder.take();
    EXPECT_FALSE(record.complete);
    ASSERT_EQ(record.transfers.size(), 1U);
    EXPECT_EQ(record.transfers[0].begin, record.transfers[0].queued_begin);
    EXPECT_EQ(there.to_doubles(), std::vector<double>(8, 2));
  }
  const profile::StepRecord whole = profile::record([&] { a.to(gpu(2)); });
  EXPECT_TRUE(whole.complete);
  EXPECT_GT(whole.transfers[0].end, whole.transfers[0].begin);
}

TEST_F(StreamTimesFaultTest, AndOfACollective) {
  testing::Group group = comm::make_group(default_devices(), {});
  std::vector<Tensor> x;
  for (const Device d : default_devices())
    x.push_back(tensor_of({1, 2, 3, 4}, d));
  const auto all_reduce = [&] {
    return profile::record([&] {
      testing::run_ranks(group, [&](comm::Communicator& comm) {
        comm.all_reduce(x[static_cast<std::size_t>(comm.rank())]);
      });
    });
  };
  // The first recording of an event fails, then the second, ..., until none is left that could.
  int refused = 0;
  for (int call = 1; call < 200; ++call) {
    SCOPED_TRACE(call);
    for (Tensor& own : x)
      own.fill_(1);
    stand_in::fail_call("cudaEventRecord", call, 999);
    try {
      const profile::StepRecord record = all_reduce();
      EXPECT_EQ(record.transfers.size(), 12U);
      EXPECT_EQ(record.side_work.size(), 4U);
      for (const profile::Transfer& t : record.transfers)
        EXPECT_LE(t.begin, t.end);
      for (const Tensor& own : x)
        EXPECT_EQ(own.to_doubles(), (Values{4, 4, 4, 4}));
      refused += !record.complete;
    } catch (const Error&) {  // of an event that orders streams
      for (auto& rank : group)
        rank->reset();
    }
    stand_in::reset();
  }
  EXPECT_GE(refused, 8) << "a beginning and an end on each side stream at least";
}

TEST_F(StreamTimesFaultTest, AMessageIsWorkOfBothSideStreamsAndABarrierOfNone) {
  testing::Group group = comm::make_group(std::vector{gpu(0), gpu(1), gpu(2)}, {});
  std::vector<Tensor> x;
  for (int r = 0; r < 3; ++r)
    x.push_back(tensor_of({1, 2}, gpu(r)));
  const profile::StepRecord record = profile::record([&] {
    testing::run_ranks(group, [&](comm::Communicator& comm) {
      const Tensor& own = x[static_cast<std::size_t>(comm.rank())];
      if (comm.rank() == 0) comm.send(own, 2);
      if (comm.rank() == 2) comm.recv(own, 0);
      comm.barrier();
    });
  });
  EXPECT_TRUE(record.complete);
  std::map<Device, std::string> names;
  for (const profile::SideSpan& s : record.side_work)
    names[s.device] += s.name;
  EXPECT_EQ(names, (std::map<Device, std::string>{{gpu(0), "send"}, {gpu(2), "recv"}}));
}

TEST_F(StreamTimesFaultTest, WhatWasQueuedBeforeTheRecordHasNoTimesAndTheRecordSaysSo) {
  testing::Group group = comm::make_group(std::vector{gpu(0), gpu(2)}, {});
  std::vector<Tensor> x;
  std::vector<comm::Handle> handles(2);
  for (int r = 0; r < 2; ++r)
    x.push_back(tensor_of({1, 2}, group[static_cast<std::size_t>(r)]->device()));
  for (std::size_t r = 0; r < 2; ++r)
    handles[r] = group[r]->start_all_reduce(x[r]);
  const profile::StepRecord record = profile::record([&] {
    for (comm::Handle& handle : handles)
      handle.wait();
  });
  EXPECT_FALSE(record.complete);
  EXPECT_TRUE(record.side_work.empty());
  EXPECT_EQ(record.transfers.size(), 2U);
  for (const profile::Transfer& t : record.transfers)
    EXPECT_GE(t.begin, profile::Duration{});
}

TEST_F(BareStreamTimesTest, AGpuThatOnlyGotBytesHasItsTimesToo) {
  const Tensor a = full({8}, 2, {.dtype = DType::f64, .device = gpu(0)});
  const profile::StepRecord record = profile::record([&] { a.to(gpu(1)); });
  EXPECT_TRUE(record.complete) << "which was not in use when the record began";
  ASSERT_EQ(record.transfers.size(), 1U);
  EXPECT_LE(record.transfers[0].end, record.duration);
  EXPECT_GE(record.transfers[0].end, profile::Duration{});
}

}  // namespace
}  // namespace tandem::cuda::test
