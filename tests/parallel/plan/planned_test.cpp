// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Chunks planned by what steps without effect have shown, and steps that go on with another plan
// where a device is full.

#include <cstdlib>

#include <gmock/gmock.h>

#include "tandem/nn/dropout.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;
using Rows = std::vector<std::int64_t>;

constexpr std::int64_t kBatch = 384;

/// Activations are what most of its memory is for.
struct Wide : nn::Module {
  nn::Linear first{12, 64, {.dtype = DType::f64}}, second{64, 64, {.dtype = DType::f64}},
      third{64, 5, {.dtype = DType::f64}};
  nn::BatchNorm1d norm{64, {.dtype = DType::f64}};
  nn::Dropout dropout{0.3};
  Tensor forward(const Tensor& x) {
    return third(dropout(relu(norm(second(tanh(first(x.flatten(1))))))));
  }
  TANDEM_MODULE(Wide, first, second, third, norm, dropout)
};

class PlannedTest : public ::testing::TestWithParam<Mode> {
 protected:
  ~PlannedTest() override {
    for (const Device d : devices)
      logical_device(d).set_limit(SIZE_MAX);
  }

  DataParallelOptions options() const { return {.devices = devices, .mode = GetParam()}; }
  /// Weights, buffers and optimizer after some steps of a copy of `start`.
  Values train(const DataParallelOptions& how, int steps = 3) const {
    Wide net = nn::clone(start);
    optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
    DataParallel<Wide> dp(net, how);
    manual_seed(7);
    for (int i = 0; i < steps; ++i)
      dp.step(batch, kLoss, &optimizer);
    return values_of(net);
  }
  /// What steps of that size need, measured on a copy.
  StepModel model() const {
    Wide net = nn::clone(start);
    optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
    DataParallel<Wide> dp(net, options());
    return dp.step_model(batch, kLoss, &optimizer);
  }

  std::vector<Device> devices = testing::devices(kDevices);
  Wide start;
  Batch batch = make_batch(kBatch, 2, DType::f64, false);
};

TEST_P(PlannedTest, SaysBeforehandWhatEachDeviceWillNeed) {
  Wide net = nn::clone(start);
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  DataParallelOptions how = options();
  how.chunks = ChunkPolicy::planned();
  DataParallel<Wide> dp(net, how);
  EXPECT_TRUE(dp.policy().wants_model());
  dp.step(batch, kLoss, &optimizer);
  ASSERT_NE(dp.policy().model(), nullptr);
  const StepPlan plan = dp.policy().model()->plan(kBatch);
  for (const Device d : devices)
    logical_device(d).reset_peak();
  const StepResult result = dp.step(batch, kLoss, &optimizer);
  EXPECT_EQ(result.rows, plan.rows);
  for (int d = 0; d < kDevices; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const auto measured = static_cast<double>(logical_device(devices[i]).memory_stats().peak);
    EXPECT_NEAR(static_cast<double>(plan.peak_bytes[i]), measured, 0.02 * measured) << devices[i];
  }
  EXPECT_LE(std::abs(result.rows[1] - result.rows[2]), 1);
  EXPECT_LT(result.rows[0], result.rows[1]) << "the first device has the batch, too";
}

TEST_P(PlannedTest, LeavesTheBitsOfARunThatHadThePlanFromTheStart) {
  DataParallelOptions planned = options(), given = options();
  planned.chunks = ChunkPolicy::planned();
  given.chunk_sizes = model().plan(kBatch).rows;
  EXPECT_EQ(train(planned), train(given));
}

TEST_P(PlannedTest, MeasuringChangesNothing) {
  Wide net = nn::clone(start);
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  DataParallel<Wide> dp(net, options());
  manual_seed(7);
  dp.step(batch, kLoss, &optimizer);
  const Values before = values_of(net);
  dp.step_model(batch, kLoss, &optimizer);
  EXPECT_EQ(values_of(net), before);
  for (const Tensor& p : net.parameters())
    EXPECT_FALSE(p.grad().defined()) << "those of the measured steps are dropped, too";
  dp.step(batch, kLoss, &optimizer);
  EXPECT_EQ(values_of(net), train(options(), 2));
}

TEST_P(PlannedTest, AFullDeviceGetsFewerRowsAndNoBitIsLost) {
  const StepModel needs = model();
  const StepPlan even = needs.predict({128, 128, 128});
  const auto first = static_cast<std::size_t>(needs.needs()[0].peak(80, kBatch));
  ASSERT_LT(first, even.peak_bytes[0]);
  LogicalDevice& device = logical_device(devices[0]);

  DataParallelOptions replans = options();
  replans.on_oom = OnOutOfMemory::replan;
  Wide net = nn::clone(start);
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  DataParallel<Wide> dp(net, replans);
  manual_seed(7);
  dp.step(batch, kLoss, &optimizer);
  EXPECT_EQ(dp.policy().model(), nullptr) << "there was room";
  device.set_limit(first);
  const StepResult result = dp.step(batch, kLoss, &optimizer);
  dp.step(batch, kLoss, &optimizer);
  device.set_limit(SIZE_MAX);
  EXPECT_LE(result.rows[0], 80);

  Wide other = nn::clone(start);
  optim::AdamW other_optimizer(other.named_parameters(), {.lr = 0.01});
  manual_seed(7);
  DataParallel<Wide>(other, options()).step(batch, kLoss, &other_optimizer);
  DataParallelOptions given = options();
  given.chunk_sizes = result.rows;
  DataParallel<Wide> rest(other, given);
  for (int i = 0; i < 2; ++i)
    rest.step(batch, kLoss, &other_optimizer);
  EXPECT_EQ(values_of(net), values_of(other));
}

TEST_P(PlannedTest, ABatchThatFitsInNoWayNamesTheLargestThatDoes) {
  const StepModel needs = model();
  for (std::size_t d = 0; d < devices.size(); ++d) {
    logical_device(devices[d])
        .set_limit(static_cast<std::size_t>(needs.needs()[d].peak(100, kBatch)));
  }
  DataParallelOptions how = options();
  how.on_oom = OnOutOfMemory::replan;
  Wide net = nn::clone(start);
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  const Values before = values_of(net);
  try {
    DataParallel<Wide>(net, how).step(batch, kLoss, &optimizer);
    FAIL() << "it cannot fit";
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(),
                AllOf(HasSubstr("384 rows"), HasSubstr("the largest batch that fits has")));
    EXPECT_NE(find_cause<OutOfMemory>(e), nullptr);
  }
  EXPECT_EQ(values_of(net), before);
  how.on_oom = OnOutOfMemory::error;
  DataParallel<Wide> stops(net, how);
  EXPECT_THROW(stops.step(batch, kLoss, &optimizer), ReplicaError);
}

INSTANTIATE_TEST_SUITE_P(Modes, PlannedTest, ::testing::ValuesIn(kModes), [](const auto& instance) {
  return std::string(name(instance.param));
});

TEST(PlannedChunksTest, AreNotForTheBitwiseMode) {
  Mlp net;
  DataParallelOptions options{.devices = testing::devices(2), .bitwise_leaves = 4};
  options.on_oom = OnOutOfMemory::replan;
  const auto text = AllOf(HasSubstr("bitwise_leaves"), HasSubstr("planned chunks"));
  EXPECT_THAT(thrown_text([&] { DataParallel<Mlp>(net, options); }), text);
  options.on_oom = OnOutOfMemory::error;
  options.chunks = ChunkPolicy::planned();
  EXPECT_THAT(thrown_text([&] { DataParallel<Mlp>(net, options); }), text);
}

TEST(PlannedChunksTest, SmallBatchesAndOtherCallsAreEven) {
  Mlp net;
  DataParallel<Mlp> dp(net, {.devices = testing::devices(3), .chunks = ChunkPolicy::planned()});
  const Batch batch = make_batch(5, 1, DType::f64, false);
  EXPECT_EQ(dp.step(batch, kLoss).rows, (Rows{2, 2, 1}));
  EXPECT_TRUE(dp.policy().wants_model());
  EXPECT_EQ(dp.policy().describe(), "planned");
}

}  // namespace
}  // namespace tandem::parallel::test
