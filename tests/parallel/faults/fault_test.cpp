// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/fault.hpp"

#include <atomic>
#include <memory>

#include <gmock/gmock.h>

#include "tandem/parallel/replica_error.hpp"
#include "tandem/runtime/dispatch.hpp"

#include "parallel/faulted_training.hpp"
#include "sanitized.hpp"

// Every piece of work of a step fails once, each third under a sanitizer. Before the vote: a typed
// error, nothing has changed, the next step is right. After it: an error that says what to do, and
// no further step.
namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;

constexpr int kMostWorks = 2000;

struct Injected : std::runtime_error {
  Injected() : std::runtime_error("injected") {}
};

/// One step old.
std::unique_ptr<FaultedTraining> make_training(const FaultedMode& how) {
  auto run = std::make_unique<FaultedTraining>(
      how, DataParallelOptions{.devices = devices(2), .chunk_sizes = {4, 9}}, 13);
  run->step();
  return run;
}

class Faults : public ::testing::TestWithParam<FaultedMode> {};

TEST_P(Faults, EachPieceOfWorkOfAStepFailsOnce) {
  const double right = make_training(GetParam())->step();  // the loss of the step that follows
  auto run = make_training(GetParam());
  run->optimizer.zero_grad();
  const FaultedTraining::State before = run->state();
  int rolled_back = 0, poisoned = 0;
  for (int k = 1; k < kMostWorks; k += testing::kFaultStride) {
    std::atomic<int> left{k};
    bool failed = true;
    try {
      const WorkFaultScope scope([&](const Work&, Device) {
        if (left.fetch_sub(1) == 1) throw Injected();
      });
      run->step();
      failed = false;
    } catch (const ReplicaError& e) {
      EXPECT_NE(find_cause<Injected>(e), nullptr) << "work " << k << ": " << e.what();
      run->optimizer.zero_grad();
      const FaultedTraining::State after = run->state();
      EXPECT_EQ(after.values, before.values) << "work " << k << ": " << e.what();
      EXPECT_EQ(after.optimizer, before.optimizer) << "work " << k;
      EXPECT_EQ(after.forwards, before.forwards) << "work " << k;
      EXPECT_EQ(after.in_use, before.in_use) << "work " << k;
      ++rolled_back;
      continue;
    } catch (const Injected&) {
      try {
        run->step();
        ADD_FAILURE() << "work " << k << " failed after the vote, and the next step went on";
      } catch (const InvalidArgument& e) {
        EXPECT_THAT(e.what(), HasSubstr("restore the checkpoint")) << "work " << k;
      }
      run = make_training(GetParam());
      run->optimizer.zero_grad();
      default_generator().forwards().store(before.forwards);
      ++poisoned;
      continue;
    }
    EXPECT_FALSE(failed);
    break;  // the step has fewer pieces of work: none failed
  }
  EXPECT_GT(rolled_back, 50 / testing::kFaultStride);
  EXPECT_GT(poisoned, 0);
  // After so many failures a step is what it would have been.
  run = make_training(GetParam());
  EXPECT_EQ(run->step(), right);
}

INSTANTIATE_TEST_SUITE_P(All,
                         Faults,
                         ::testing::ValuesIn(faulted_modes()),
                         [](const auto& instance) { return instance.param.name(); });

}  // namespace
}  // namespace tandem::parallel::test
