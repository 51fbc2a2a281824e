// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "io/temp_dir.hpp"
#include "train/small_run.hpp"

namespace tandem::training::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::TestWithParam;
using ::testing::ThrowsMessage;
using ::testing::Values;

constexpr std::int64_t kEpochs = 3;

/// A run that is cut after `steps`, and goes on in fresh objects.
class ResumeTest : public TestWithParam<std::tuple<int, std::int64_t>> {
 protected:
  tandem::testing::TempDir dir_;
  const std::string path_ = dir_.file("run.safetensors");
};

TEST_P(ResumeTest, GoesOnAsIfItHadNotBeenCut) {
  const auto [devices, steps] = GetParam();
  SmallRun whole(devices);
  const RunReport one = whole.go({.epochs = kEpochs});
  const auto random_end = random_state();

  {
    SmallRun first(devices);
    first.go({.epochs = kEpochs, .steps = steps, .checkpoint = path_});
    EXPECT_EQ(first.state.step, steps);
    EXPECT_THAT(differing(numbers_of(first), numbers_of(whole)), Not(IsEmpty()));
  }
  SmallRun rest(devices, 999);  // other weights, other random numbers
  randn({5});
  rest.load(path_);
  const RunReport two = rest.go({.epochs = kEpochs});

  EXPECT_THAT(differing(numbers_of(rest), numbers_of(whole)), IsEmpty());
  EXPECT_EQ(random_state(), random_end);
  EXPECT_EQ(rest.state.step, kEpochs * kBatches);
  EXPECT_EQ(two.steps, kEpochs * kBatches - steps);
  ASSERT_FALSE(two.epochs.empty());
  EXPECT_EQ(two.epochs.back().epoch, kEpochs);
  EXPECT_EQ(two.epochs.back().loss, one.epochs.back().loss);
  EXPECT_EQ(two.epochs.back().test_accuracy, one.epochs.back().test_accuracy);
  // The epoch in which it was cut has the loss of all of its steps.
  const auto cut = static_cast<std::size_t>(steps / kBatches);
  EXPECT_EQ(two.epochs.front().loss, one.epochs[cut].loss);
}

// In an epoch, in the first one, at the end of one, one step before the end.
INSTANTIATE_TEST_SUITE_P(Cuts, ResumeTest, ::testing::Combine(Values(1, 3), Values(1, 3, 5, 8)));

class MoveTest : public ResumeTest {};

TEST_P(MoveTest, GoesOnWithOtherDevices) {
  const auto [devices, steps] = GetParam();
  SmallRun whole(3), first(3);
  manual_seed(1);
  whole.go({.epochs = kEpochs});
  manual_seed(1);
  first.go({.epochs = kEpochs, .steps = steps, .checkpoint = path_});
  SmallRun rest(devices, 999);
  rest.load(path_);
  rest.go({.epochs = kEpochs});
  const Numbers expected = numbers_of(whole);
  for (const auto& [name, values] : numbers_of(rest)) {
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], expected.at(name)[i], 1e-12 * std::max(1.0, std::abs(values[i])))
          << name << ' ' << i;
  }
}

INSTANTIATE_TEST_SUITE_P(From3, MoveTest, ::testing::Combine(Values(1, 2, 4), Values(4)));

TEST(ResumeLoopTest, StoppedOnTheLastBatchOfAnEpochIsMeasuredAfterwards) {
  const tandem::testing::TempDir dir;
  const std::string path = dir.file("run.safetensors");
  SmallRun whole(2);
  const RunReport one = whole.go({.epochs = 1});
  SmallRun first(2);
  std::int64_t asked = 0;
  const RunReport cut =
      first.go({.epochs = 1, .checkpoint = path, .stop = [&asked] { return ++asked == kBatches; }});
  EXPECT_TRUE(cut.stopped);
  EXPECT_TRUE(cut.epochs.empty());
  SmallRun rest(2, 999);
  rest.load(path);
  const RunReport two = rest.go({.epochs = 1});
  EXPECT_EQ(two.steps, 0);
  ASSERT_EQ(two.epochs.size(), 1U);
  EXPECT_EQ(two.epochs[0].loss, one.epochs[0].loss);
  EXPECT_EQ(two.epochs[0].test_accuracy, one.epochs[0].test_accuracy);
}

TEST(ResumeScheduleTest, RatesGoOnAsIfTheRunHadNotBeenCut) {
  const tandem::testing::TempDir dir;
  const std::string path = dir.file("run.safetensors");
  const optim::LRSchedule cosine = optim::CosineAnnealingLR{.t_max = kEpochs * kBatches};
  SmallRun whole(2), first(2);
  optim::LRScheduler rates(*whole.optimizer, cosine), cut(*first.optimizer, cosine);
  manual_seed(1);
  whole.go({.epochs = kEpochs, .schedule = &rates});
  EXPECT_NEAR(rates.get_last_lr().front(), 0, 1e-12);
  manual_seed(1);
  first.go({.epochs = kEpochs, .steps = 5, .checkpoint = path, .schedule = &cut});

  SmallRun rest(3, 999);
  optim::LRScheduler again(*rest.optimizer, cosine);
  rest.state = load_checkpoint(path, rest.task->module(), *rest.optimizer, rest.state, &again);
  EXPECT_EQ(again.last_epoch(), 5);
  EXPECT_EQ(again.get_last_lr(), cut.get_last_lr());
  rest.go({.epochs = kEpochs, .schedule = &again});
  const Numbers expected = numbers_of(whole);
  for (const auto& [name, values] : numbers_of(rest)) {
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], expected.at(name)[i], 1e-12 * std::max(1.0, std::abs(values[i])))
          << name << ' ' << i;
  }
}

TEST(ResumeScheduleTest, IsOnBothSidesOrOnNone) {
  const tandem::testing::TempDir dir;
  const std::string path = dir.file("run.safetensors");
  SmallRun r(1);
  optim::LRScheduler rates(*r.optimizer, optim::CosineAnnealingLR{.t_max = 9});
  r.go({.epochs = 1, .checkpoint = path, .schedule = &rates});
  SmallRun other(1, 999);
  const Numbers before = numbers_of(other);
  EXPECT_THAT([&] { other.load(path); },
              ThrowsMessage<InvalidArgument>(HasSubstr("its run has a schedule")));
  EXPECT_THAT(differing(numbers_of(other), before), IsEmpty());

  r.save(path);
  optim::LRScheduler fresh(*other.optimizer, optim::CosineAnnealingLR{.t_max = 9});
  EXPECT_THAT(
      [&] { load_checkpoint(path, other.task->module(), *other.optimizer, other.state, &fresh); },
      ThrowsMessage<InvalidArgument>(HasSubstr("its run has no schedule")));
  EXPECT_EQ(fresh.last_epoch(), 0);
  EXPECT_THAT(differing(numbers_of(other), before), IsEmpty());
}

TEST(ResumeLoopTest, RefusesAnotherBatchSizeWithinAnEpochOnly) {
  SmallRun r(1);
  r.go({.epochs = 2, .steps = 1});
  const auto with_8 = [&r] {
    datasets::DataLoader eights(rows(100),
                                {.batch_size = 8, .sampler = datasets::random_sampler(kRows, 5)});
    return run(*r.task, *r.optimizer, eights, r.test, 8, r.state, {.epochs = 2});
  };
  EXPECT_THAT(with_8,
              ThrowsMessage<InvalidArgument>(
                  AllOf(HasSubstr("1 batches of 16 rows"), HasSubstr("batches have 8"))));
  EXPECT_EQ(r.state.step, 1);
  r.go({.epochs = 1});
  EXPECT_EQ(with_8().steps, 5);
}

}  // namespace
}  // namespace tandem::training::test
