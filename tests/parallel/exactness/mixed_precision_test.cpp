// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <limits>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/autocast.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/grad_scaler.hpp"
#include "tandem/optim/sgd.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// Products in 16 bits, parameters in f32, and losses that are scaled.
namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::HasSubstr;

constexpr int kTrainedSteps = 12;

Batch batch_at(int step) {
  return make_batch(
      step % 4 == 3 ? 11 : 29, 60 + static_cast<std::uint64_t>(step), DType::f32, true);
}

struct MixedTraining {
  std::vector<double> losses;
  Values values;
};

template <class Net>
MixedTraining train(const Net& start,
                    const DataParallelOptions& how,
                    DType products,
                    optim::GradScaler* scaler = nullptr) {
  Net net = nn::clone(start);
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  DataParallel dp(net, how);
  const Autocast mixed(products);
  MixedTraining run;
  for (int step = 0; step < kTrainedSteps; ++step) {
    const StepResult result = dp.step(batch_at(step), kLoss, &optimizer, {.scaler = scaler});
    EXPECT_FALSE(result.skipped) << step;
    run.losses.push_back(result.loss);
  }
  run.values = values_of(net);
  return run;
}

class MixedPrecisionTest : public ::testing::TestWithParam<Mode> {};

TEST_P(MixedPrecisionTest, AScaleThatIsAPowerOfTwoChangesNoBit) {
  manual_seed(5);
  const Cnn net(DType::f32);
  for (const std::int64_t parts : {1, 3}) {
    const DataParallelOptions how{
        .devices = devices(3), .mode = GetParam(), .chunk_sizes = {4, 0, 25}, .accumulate = parts};
    optim::GradScaler scaler({.init_scale = 1024, .growth_interval = 5});
    const MixedTraining scaled = train(net, how, DType::f32, &scaler);
    const MixedTraining plain = train(net, how, DType::f32);
    EXPECT_EQ(scaled.losses, plain.losses);
    EXPECT_EQ(scaled.values, plain.values);
    EXPECT_EQ(scaler.get_scale(), 4096) << "after twelve good steps";
  }
}

TEST_P(MixedPrecisionTest, AnOverflowOnOneDeviceSkipsTheStepOfAll) {
  manual_seed(5);
  Cnn net(DType::f32);
  Cnn other = nn::clone(net);
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  optim::AdamW optimizer_of_other(other.named_parameters(), {.lr = 0.01});
  const DataParallelOptions how{
      .devices = devices(3), .mode = GetParam(), .chunk_sizes = {4, 20, 5}};
  DataParallel dp(net, how), dp_of_other(other, how);
  const Batch first = batch_at(0), second = batch_at(1);
  optim::GradScaler scaler({.init_scale = 1024});
  const auto overflowing = [](Cnn& m, const Batch& b) {
    WeightedSum loss = cross_entropy_sum(m(b.x), b.labels);
    // In f16 the gradient of what was scaled by 1024 is above 65504.
    if (context().replica == 2)
      loss.sum = loss.sum + sum((m.head.weight * 1e-5).to(DType::f16)).to(DType::f32) * 3e3;
    return loss;
  };
  dp.step(first, kLoss, &optimizer, {.scaler = &scaler});
  dp_of_other.step(first, kLoss, &optimizer_of_other);
  const Values before = values_of(net);
  const std::uint64_t forwards = default_generator().forwards().load();
  const StepResult result = dp.step(second, overflowing, &optimizer, {.scaler = &scaler});
  EXPECT_TRUE(result.skipped);
  EXPECT_EQ(scaler.get_scale(), 512);
  ASSERT_TRUE(result.non_finite.has_value());
  EXPECT_EQ(result.non_finite->device, testing::device(2));
  EXPECT_EQ(result.non_finite->name, "head.weight");
  EXPECT_EQ(values_of(net), before);
  EXPECT_EQ(default_generator().forwards().load(), forwards);
  EXPECT_FALSE(dp.step(second, kLoss, &optimizer, {.scaler = &scaler}).skipped);
  dp_of_other.step(second, kLoss, &optimizer_of_other);
  EXPECT_EQ(values_of(net), values_of(other));
}

TEST_P(MixedPrecisionTest, Bf16TrainsAlikeOnAnyNumberOfDevices) {
  manual_seed(5);
  const Mlp net(DType::f32);
  const MixedTraining one = train(net, {.devices = devices(1)}, DType::bf16);
  const MixedTraining wide = train(net, {.devices = devices(1)}, DType::f32);
  EXPECT_NE(one.losses, wide.losses) << "products are in 16 bits";
  for (const int n : {2, 3}) {
    const MixedTraining several =
        train(net, {.devices = devices(n), .mode = GetParam(), .gpu0_bsz = 3}, DType::bf16);
    for (std::size_t i = 0; i < kTrainedSteps; ++i) {  // bf16 has 8 bits: 2^-8 of losses near 2
      EXPECT_NEAR(several.losses[i], one.losses[i], 0.008) << n << " devices, step " << i;
      EXPECT_NEAR(one.losses[i], wide.losses[i], 0.03) << i;
    }
  }
}

TEST_P(MixedPrecisionTest, F16WithAScalerTrainsAlikeOnAnyNumberOfDevices) {
  manual_seed(5);
  const Mlp net(DType::f32);
  optim::GradScaler first({.init_scale = 4096});
  const MixedTraining one = train(net, {.devices = devices(1)}, DType::f16, &first);
  for (const int n : {2, 3}) {
    optim::GradScaler scaler({.init_scale = 4096});
    const MixedTraining several =
        train(net, {.devices = devices(n), .mode = GetParam(), .gpu0_bsz = 0}, DType::f16, &scaler);
    for (std::size_t i = 0; i < kTrainedSteps; ++i)
      EXPECT_NEAR(several.losses[i], one.losses[i], 0.002) << n << " devices, step " << i;
  }
}

TEST_P(MixedPrecisionTest, ParametersThatTheOptimizerLeavesKeepTheirGradients) {
  manual_seed(5);
  Mlp net(DType::f32);
  optim::SGD optimizer(net.head.named_parameters(), {.lr = 0.1});
  DataParallel dp(net, {.devices = devices(2), .mode = GetParam()});
  dp.step(batch_at(0), kLoss);
  const auto once = net.hidden.weight.grad().to_doubles();
  optim::GradScaler scaler({.init_scale = 256});
  const Values before = values_of(net);
  dp.step(batch_at(0), kLoss, &optimizer, {.scaler = &scaler});
  const auto twice = net.hidden.weight.grad().to_doubles();
  ASSERT_EQ(values_of(net).at("hidden.weight"), before.at("hidden.weight"));
  for (std::size_t i = 0; i < once.size(); ++i)
    EXPECT_EQ(twice[i], 2 * once[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Modes,
                         MixedPrecisionTest,
                         ::testing::ValuesIn(kModes),
                         [](const auto& instance) { return std::string(name(instance.param)); });

TEST(ScalerTest, ItNeedsTheOptimizer) {
  Mlp net(DType::f32);
  DataParallel dp(net, {.devices = devices(2)});
  optim::GradScaler scaler;
  EXPECT_THAT(thrown_text<InvalidArgument>(
                  [&] { dp.step(batch_at(0), kLoss, nullptr, {.scaler = &scaler}); }),
              HasSubstr("a scaler without an optimizer"));
}

}  // namespace
}  // namespace tandem::parallel::test
