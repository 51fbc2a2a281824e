// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// What a step does about infinities and NaN.
namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// All that a step may change.
struct Everything {
  Values values;
  std::map<std::string, std::vector<double>> state;
  std::uint64_t forwards;
  friend bool operator==(const Everything&, const Everything&) = default;
};

Everything everything(nn::Module& net, const optim::Optimizer& optimizer) {
  Everything all{values_of(net), {}, default_generator().forwards().load()};
  const optim::OptimizerState state = optimizer.state_dict();
  for (const auto& [name, x] : state.tensors)
    all.state[name] = x.to_doubles();
  for (const auto& [name, number] : state.numbers)
    all.state[name] = {number};
  return all;
}

/// A loss whose gradient with respect to second.weight is NaN on one device, and itself finite.
auto nan_gradient_on(int replica) {
  return [replica](Cnn& net, const Batch& b) {
    WeightedSum loss = cross_entropy_sum(net(b.x), b.labels);
    if (context().replica == replica) {
      const Tensor part = net.second.weight * 0.0;
      autograd::register_hook(part, [](const Tensor& g) { return g * kNaN; });
      loss.sum = loss.sum + sum(part);
    }
    return loss;
  };
}

/// A loss that is NaN on one device.
auto nan_loss_on(int replica) {
  return [replica](Cnn& net, const Batch& b) {
    WeightedSum loss = cross_entropy_sum(net(b.x), b.labels);
    if (context().replica == replica) loss.sum = loss.sum * kNaN;
    return loss;
  };
}

/// Small buckets, so that a parameter may lie in the shares of two devices.
DataParallelOptions on_three(DataParallelOptions options, Mode mode) {
  options.devices = devices(3);
  options.gpu0_bsz = 3;
  options.mode = mode;
  options.exchange.first_bucket_nbytes = 256;
  options.exchange.bucket_nbytes = 1024;
  return options;
}

struct Setting {
  explicit Setting(const DataParallelOptions& options, Mode mode)
      : dp(net, on_three(options, mode)) {
    dp.step(batch, kLoss, &optimizer);
  }
  Cnn net;
  optim::AdamW optimizer{net.named_parameters(), {.lr = 0.01}};
  Batch batch = make_batch(13, 2, DType::f64, false);
  DataParallel<Cnn> dp;
};

class NonFiniteTest : public ::testing::TestWithParam<Mode> {};

TEST_P(NonFiniteTest, GradientsAreAnErrorThatNamesParameterAndDevice) {
  for (const int replica : {0, 1, 2}) {
    Setting s({.checks = {.non_finite_gradients = NonFinite::error}}, GetParam());
    const Everything before = everything(s.net, s.optimizer);
    try {
      s.dp.step(s.batch, nan_gradient_on(replica), &s.optimizer);
      ADD_FAILURE() << "no error";
    } catch (const ReplicaError& e) {
      EXPECT_EQ(e.replica, replica);
      EXPECT_EQ(e.rows, s.dp.plan(13)[static_cast<std::size_t>(replica)]);
      EXPECT_EQ(e.phase, Phase::backward);
      EXPECT_THAT(e.what(),
                  HasSubstr("the gradient of 'second.weight' on " + testing::device_name(replica) +
                            " holds an infinity or NaN"));
    }
    EXPECT_EQ(everything(s.net, s.optimizer), before);
    s.dp.step(s.batch, kLoss, &s.optimizer);
  }
}

TEST_P(NonFiniteTest, ASkippedStepHasNoEffectAndTheNextIsRight) {
  for (const bool in_loss : {false, true}) {
    manual_seed(3);
    Setting s(
        {.checks = {.non_finite_loss = NonFinite::skip, .non_finite_gradients = NonFinite::skip}},
        GetParam());
    manual_seed(3);
    Setting other({}, GetParam());
    const Everything before = everything(s.net, s.optimizer);
    const StepResult result = in_loss ? s.dp.step(s.batch, nan_loss_on(1), &s.optimizer)
                                      : s.dp.step(s.batch, nan_gradient_on(1), &s.optimizer);
    EXPECT_TRUE(result.skipped);
    ASSERT_TRUE(result.non_finite.has_value());
    EXPECT_EQ(result.non_finite->device, testing::device(1));
    EXPECT_EQ(result.non_finite->name, in_loss ? "" : "second.weight");
    EXPECT_EQ(std::isnan(result.loss), in_loss);
    EXPECT_EQ(everything(s.net, s.optimizer), before);
    const StepResult next = s.dp.step(s.batch, kLoss, &s.optimizer);
    EXPECT_FALSE(next.skipped);
    EXPECT_FALSE(next.non_finite.has_value());
    other.dp.step(other.batch, kLoss, &other.optimizer);
    EXPECT_EQ(values_of(s.net), values_of(other.net));
  }
}

TEST_P(NonFiniteTest, AWarningGoesOn) {
  Setting s(
      {.checks = {.non_finite_loss = NonFinite::warn, .non_finite_gradients = NonFinite::warn}},
      GetParam());
  const StepResult result = s.dp.step(s.batch, nan_gradient_on(2), &s.optimizer);
  EXPECT_FALSE(result.skipped);
  ASSERT_TRUE(result.non_finite.has_value());
  EXPECT_EQ(result.non_finite->device, testing::device(2));
  EXPECT_EQ(result.non_finite->name, "second.weight");
  EXPECT_TRUE(std::isnan(s.net.second.weight.to_doubles()[0])) << "it was told, and went on";
  EXPECT_EQ(s.dp.step(s.batch, kLoss, &s.optimizer).non_finite->name, "") << "now it is the loss";
}

TEST_P(NonFiniteTest, OffLooksAtNothing) {
  Setting s({.checks = {.non_finite_loss = NonFinite::off}}, GetParam());
  const StepResult result = s.dp.step(s.batch, nan_loss_on(1), &s.optimizer);
  EXPECT_TRUE(std::isnan(result.loss));
  EXPECT_FALSE(result.skipped);
  EXPECT_FALSE(result.non_finite.has_value());
}

TEST_P(NonFiniteTest, EarlierGradientsSurviveASkippedStep) {
  Setting s({.checks = {.non_finite_gradients = NonFinite::skip}}, GetParam());
  s.optimizer.zero_grad();
  s.dp.step(s.batch, kLoss);
  const Values before = gradients_of(s.net);
  EXPECT_TRUE(s.dp.step(s.batch, nan_gradient_on(1)).skipped);
  EXPECT_EQ(gradients_of(s.net), before);
}

/// Every row of the batch is masked.
constexpr auto kMasked = [](Cnn& net, const Batch& b) {
  const Tensor loss = sum(square(net(b.x))) * 0.0;
  return WeightedSum{loss, scalar(0, {.dtype = loss.dtype(), .device = loss.device()})};
};

TEST_P(NonFiniteTest, AnErrorTellsOfABatchWithoutWeight) {
  Setting s({}, GetParam());
  Batch ignored = s.batch;
  ignored.labels = full(ignored.labels.shape(), -100, {.dtype = DType::i64});
  const Everything before = everything(s.net, s.optimizer);
  const auto refusal = [&](const auto& loss, const Batch& batch) {
    return testing::thrown_text<ReplicaError>([&] { s.dp.step(batch, loss, &s.optimizer); });
  };
  EXPECT_THAT(refusal(kMasked, s.batch), HasSubstr("the weights of the batch add up to 0"));
  EXPECT_THAT(refusal(kLoss, ignored), HasSubstr("the weights of the batch add up to 0"));
  EXPECT_EQ(everything(s.net, s.optimizer), before);
}

TEST_P(NonFiniteTest, ABatchWithoutWeightIsSkipped) {
  Setting s({.checks = {.non_finite_loss = NonFinite::skip}}, GetParam());
  const Everything before = everything(s.net, s.optimizer);
  const StepResult result = s.dp.step(s.batch, kMasked, &s.optimizer);
  EXPECT_TRUE(result.skipped);
  EXPECT_EQ(result.weight, 0);
  EXPECT_EQ(everything(s.net, s.optimizer), before);
}

INSTANTIATE_TEST_SUITE_P(Modes,
                         NonFiniteTest,
                         ::testing::ValuesIn(kModes),
                         [](const auto& instance) { return std::string(name(instance.param)); });

TEST(NonFiniteOnOneTest, OneDeviceAndMicroBatches) {
  Cnn net;
  DataParallel dp(net,
                  {.devices = devices(1),
                   .accumulate = 3,
                   .checks = {.non_finite_gradients = NonFinite::skip}});
  const StepResult result = dp.step(make_batch(7, 2, DType::f64, false), nan_gradient_on(0));
  EXPECT_TRUE(result.skipped);
  EXPECT_EQ(result.non_finite->name, "second.weight");
}

TEST(NonFiniteOnOneTest, WeightIsTheWholeBatchs) {
  // The last micro-batch and one device have no weight; the batch has.
  Mlp net;
  Batch batch = make_batch(12, 2, DType::f64, false);
  std::vector<std::int64_t> labels = batch.labels.to_host<std::int64_t>();
  std::fill(labels.begin() + 4, labels.end(), -100);
  batch.labels = from_host(std::span<const std::int64_t>(labels), {12});
  DataParallel dp(net, {.devices = devices(2), .accumulate = 3});
  EXPECT_EQ(dp.step(batch, kLoss).weight, 4);
}

TEST(NonFiniteOnOneTest, ABitwiseStepWithoutWeightIsRefused) {
  PlainCnn net;
  DataParallel dp(net, {.devices = devices(2), .bitwise_leaves = 4});
  Batch batch = small_batch();
  batch.labels = full({9}, -100, {.dtype = DType::i64});
  EXPECT_THAT(testing::thrown_text<ReplicaError>([&] { dp.step(batch, kLoss); }),
              HasSubstr("the weights of the batch add up to 0"));
}

}  // namespace
}  // namespace tandem::parallel::test
