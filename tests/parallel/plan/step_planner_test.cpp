// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/plan/step_planner.hpp"

#include <functional>

#include <gmock/gmock.h>

#include "tandem/runtime/runtime.hpp"

#include "devices.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::size_t kFixed = 1000, kPerRow = 10, kFirstDeviceMore = 300;

/// Two devices whose steps need what lines say, and fit up to a limit.
class FakeDevices {
 public:
  StepProbe operator()(const std::vector<std::int64_t>& rows) {
    ++rehearsals;
    StepProbe probe{.rows = rows, .peak_bytes = {}};
    for (std::size_t d = 0; d < rows.size(); ++d) {
      const std::size_t peak =
          kFixed + (d == 0 ? kFirstDeviceMore : 0) + kPerRow * static_cast<std::size_t>(rows[d]);
      if (peak > limit) fail(d, rows[d]);
      probe.peak_bytes.push_back(peak);
      probe.ms.push_back(static_cast<double>(rows[d]));
    }
    return probe;
  }

  std::size_t limit = SIZE_MAX;
  bool is_out_of_memory = false;  // a step that does not fit; otherwise it fails in another way
  int rehearsals = 0;

 private:
  [[noreturn]] void fail(std::size_t d, std::int64_t rows) const {
    try {
      if (is_out_of_memory) throw OutOfMemory("cpu", kPerRow, limit, limit, {});
      throw InvalidArgument("full");
    } catch (const Error&) {
      throw ReplicaError(testing::device(static_cast<int>(d)),
                         static_cast<int>(d),
                         {0, rows},
                         Phase::forward,
                         "full",
                         {});
    }
  }
};

StepPlanner planner(const ChunkPolicy& policy) {
  return {testing::devices(2), policy};
}
const BatchSize kHundredRows{100, {0, 0}};

TEST(StepPlannerTest, LearnsOnceAndBalancesThePeaks) {
  FakeDevices devices;
  StepPlanner p = planner(ChunkPolicy::planned());
  p.learn(kHundredRows, std::ref(devices));
  EXPECT_GT(devices.rehearsals, 0);
  // 1300 + 10 a = 1000 + 10 b, a + b = 100
  EXPECT_THAT(p.plan(100), ElementsAre(RowRange{0, 35}, RowRange{35, 100}));
  devices.rehearsals = 0;
  p.learn(kHundredRows, std::ref(devices));
  EXPECT_EQ(devices.rehearsals, 0);
}

TEST(StepPlannerTest, DoesNotLearnFromTooFewRowsOrForAPolicyThatKnows) {
  FakeDevices devices;
  StepPlanner p = planner(ChunkPolicy::planned());
  p.learn({3, {0, 0}}, std::ref(devices));
  StepPlanner knows = planner(ChunkPolicy::even());
  knows.learn(kHundredRows, std::ref(devices));
  EXPECT_EQ(devices.rehearsals, 0);
  EXPECT_THROW(p.measure({3, {0, 0}}, std::ref(devices)), InvalidArgument);
}

TEST(StepPlannerTest, DoesNotGoByTheTimesOfDevicesThatComputeNothing) {
  FakeDevices devices;
  const std::vector<Device> without = configure_devices("cpu:2@shape-only");
  StepPlanner by_time(without, ChunkPolicy::planned(PlanGoal::least_time));
  const auto refuses =
      ThrowsMessage<InvalidArgument>(HasSubstr("cpu:0 is shape-only and computes nothing"));
  EXPECT_THAT([&] { by_time.learn(kHundredRows, std::ref(devices)); }, refuses);
  EXPECT_THAT([&] { by_time.measure(kHundredRows, std::ref(devices)); }, refuses);
  EXPECT_THAT([&] { by_time.try_batch(kHundredRows, std::ref(devices)); }, refuses);
  EXPECT_EQ(devices.rehearsals, 0);
  StepPlanner by_peak(without, ChunkPolicy::planned());
  by_peak.learn(kHundredRows, std::ref(devices));
  EXPECT_THAT(by_peak.plan(100), ElementsAre(RowRange{0, 35}, RowRange{35, 100}));
  configure_devices("cpu:2");
}

TEST(StepPlannerTest, AnErrorThatIsNotOfMemoryGoesOn) {
  FakeDevices devices;
  devices.limit = 0;
  StepPlanner p = planner(ChunkPolicy::planned());
  EXPECT_THROW(p.learn(kHundredRows, std::ref(devices)), ReplicaError);
  EXPECT_THROW(p.try_batch(kHundredRows, std::ref(devices)), ReplicaError);
}

TEST(StepPlannerTest, TriesTheRowsThatItWouldPlan) {
  FakeDevices devices;
  const auto probe = planner(ChunkPolicy::even()).try_batch(kHundredRows, std::ref(devices));
  ASSERT_TRUE(probe.has_value());
  EXPECT_THAT(probe->rows, ElementsAre(50, 50));
  EXPECT_EQ(devices.rehearsals, 1);
}

TEST(StepPlannerTest, ADeviceWithoutRoomForARowGetsNone) {
  FakeDevices devices;
  devices.is_out_of_memory = true;
  devices.limit = 1305;  // the first device needs 1310 for a row, the second 1300 for 30
  for (const Device d : testing::devices(2))
    logical_device(d).set_limit(devices.limit);
  StepPlanner p = planner(ChunkPolicy::planned());
  p.learn({30, {0, 0}}, std::ref(devices));
  EXPECT_THAT(p.plan(30), ElementsAre(RowRange{0, 0}, RowRange{0, 30}));
  EXPECT_EQ(p.policy().model()->largest_batch(), 30);
  devices.limit = 999;  // for nobody
  EXPECT_THROW(planner(ChunkPolicy::planned()).measure({30, {0, 0}}, std::ref(devices)),
               ReplicaError);
  for (const Device d : testing::devices(2))
    logical_device(d).set_limit(SIZE_MAX);
}

TEST(StepPlannerTest, RangesLieOneAfterTheOther) {
  EXPECT_THAT(ranges_of({2, 0, 3}), ElementsAre(RowRange{0, 2}, RowRange{2, 2}, RowRange{2, 5}));
}

}  // namespace
}  // namespace tandem::parallel::test
