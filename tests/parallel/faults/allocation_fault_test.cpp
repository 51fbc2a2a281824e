// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>
#include <tuple>

#include <gmock/gmock.h>

#include "tandem/parallel/replica_error.hpp"

#include "parallel/failing_allocations.hpp"
#include "parallel/faulted_training.hpp"
#include "sanitized.hpp"

// Each allocation of a step with its update fails, once or with all that follow: a typed error,
// nothing has changed, no byte is lost. Under a sanitizer each third does.
namespace tandem::parallel::test {
namespace {

constexpr int kMostAllocations = 2000;

/// Whether a step fails for want of memory, of which nothing may be left.
bool fails(FaultedTraining& run) {
  try {
    run.step();
  } catch (const ReplicaError& e) {
    EXPECT_NE(find_cause<OutOfMemory>(e), nullptr) << e.what();
    for (const auto& [name, x] : run.net.named_parameters())
      EXPECT_FALSE(x.grad().defined()) << name;
    return true;
  }
  return false;
}

/// @param steps  that it has taken.
std::unique_ptr<FaultedTraining> training_after(int steps, const FaultedMode& how) {
  auto run = std::make_unique<FaultedTraining>(
      how, DataParallelOptions{.devices = devices(kDevices), .gpu0_bsz = 3}, 11);
  for (int step = 0; step < steps; ++step)
    run->step();
  run->optimizer.zero_grad();
  return run;
}

/// Lets each allocation of a step fail on one device after the other.
///
/// @param steps  before it.
void let_each_fail(const FaultedMode& how, Lasts lasts, int steps) {
  const Values expected = values_of(training_after(steps + 1, how)->net);
  const int used = kDevices + (how.offloads ? 1 : 0);
  for (int d = 0; d < used; ++d) {
    const auto run = training_after(steps, how);
    const Device device = run->used[static_cast<std::size_t>(d)];
    const FaultedTraining::State before = run->state();
    FailingAllocations failing(device, lasts);
    int k = 1;
    for (bool failed = true; failed && k < kMostAllocations; k += testing::kFaultStride) {
      failing.begin_at(k);
      failed = fails(*run);
      failing.end();
      if (failed) {
        ASSERT_EQ(run->state(), before) << "allocation " << k << " on " << device;
      }
    }
    const int allocations = k - 1 - testing::kFaultStride;  // at most
    if (d < kDevices) {
      EXPECT_GT(allocations, 10) << "on " << device;
    } else if (steps == 0) {
      EXPECT_GT(allocations, 0) << "of the optimizer's state";
    }
    EXPECT_EQ(values_of(run->net), expected) << "of the step that went through";
  }
}

class AllocationFaults : public ::testing::TestWithParam<std::tuple<FaultedMode, Lasts>> {};

TEST_P(AllocationFaults, HaveNoEffectButAnError) {
  const auto& [how, lasts] = GetParam();
  let_each_fail(how, lasts, 1);
}

TEST(AllocationFaultsTest, OfAFirstStepHaveNoEffectButAnError) {
  for (const FaultedMode& how :
       {FaultedMode{Mode::fully_sharded, false}, {Mode::fully_sharded, true}})
    let_each_fail(how, Lasts::once, 0);
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<FaultedMode, Lasts>>& instance) {
  const auto& [how, lasts] = instance.param;
  return how.name() + (lasts == Lasts::once ? "_once" : "_for_ever");
}

INSTANTIATE_TEST_SUITE_P(All,
                         AllocationFaults,
                         ::testing::Combine(::testing::ValuesIn(faulted_modes()),
                                            ::testing::Values(Lasts::once, Lasts::for_ever)),
                         name_of);

}  // namespace
}  // namespace tandem::parallel::test
