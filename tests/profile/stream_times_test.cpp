// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// When work was called, and when the device did it: on the host the same, on a GPU its streams
// tell.

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include <gmock/gmock.h>

#include "tandem/ops/elementwise.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/profile/trace.hpp"
#include "tandem/runtime/runtime.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

namespace tandem::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

constexpr Since kClocks = 500us;  // that a GPU's may be off the host's

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
  std::map<Device, Since> streams;  // when each was done with its last work
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
    Since& last = streams[w.device];
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

}  // namespace
}  // namespace tandem::profile
