// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/batch_norm.hpp"

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::nn {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// Two channels of four rows: means 2.5 and 20, biased variances 1.25 and 50.
Tensor batch() {
  return tensor<double>({1, 10, 2, 20, 3, 20, 4, 30}).reshape({4, 2});
}

TEST(BatchNormTest, RunningStatisticsFollowTheUnbiasedVariance) {
  BatchNorm1d norm(2, {.momentum = 0.25, .dtype = DType::f64});
  norm(batch());
  EXPECT_THAT(norm.running_mean.to_doubles(), ElementsAre(0.625, 5));
  const std::vector<double> var{0.75 + 0.25 * 5 / 3, 0.75 + 0.25 * 200 / 3};
  EXPECT_THAT(norm.running_var.to_doubles(), Pointwise(DoubleNear(1e-13), var));
  EXPECT_EQ(norm.num_batches_tracked.item(), 1);
  EXPECT_EQ(norm.num_batches_tracked.dtype(), DType::i64);
  EXPECT_FALSE(norm.running_mean.requires_grad());
}

TEST(BatchNormTest, WithoutMomentumItAveragesAllBatches) {
  BatchNorm1d norm(2, {.momentum = std::nullopt, .dtype = DType::f64});
  norm(batch());
  norm(batch());
  {
    const autograd::NoGrad off;
    Tensor shifted = batch().clone();
    norm(shifted.add_(scalar(3, {.dtype = DType::f64})));
  }
  EXPECT_THAT(norm.running_mean.to_doubles(), Pointwise(DoubleNear(1e-13), {3.5, 21.0}));
  EXPECT_EQ(norm.num_batches_tracked.item(), 3);
}

TEST(BatchNormTest, EvaluationUsesTheRunningStatisticsAndKeepsThem) {
  BatchNorm1d norm(2, {.eps = 0, .dtype = DType::f64});
  StateDict state = norm.state_dict();
  state.set("running_mean", tensor<double>({1, 10}));
  state.set("running_var", tensor<double>({4, 100}));
  state.set("bias", tensor<double>({0, 7}));
  norm.load_state_dict(state);
  norm.eval();
  EXPECT_THAT(norm(batch()).to_doubles(),
              Pointwise(DoubleNear(1e-13), {0.0, 7.0, 0.5, 8.0, 1.0, 8.0, 1.5, 9.0}));
  EXPECT_EQ(norm.num_batches_tracked.item(), 0);
}

TEST(BatchNormTest, WithoutTrackingEvaluationUsesTheBatch) {
  BatchNorm1d norm(2, {.affine = false, .track_running_stats = false, .dtype = DType::f64});
  EXPECT_TRUE(norm.state_dict().empty());
  const std::vector<double> training = norm(batch()).to_doubles();
  norm.eval();
  EXPECT_EQ(norm(batch()).to_doubles(), training);
}

TEST(BatchNormTest, ABatchWithoutValuesIsCountedAndMovesNothing) {
  BatchNorm1d norm(2, {.dtype = DType::f64});
  norm(batch());
  const std::vector<double> mean = norm.running_mean.to_doubles();
  const std::vector<double> var = norm.running_var.to_doubles();
  EXPECT_EQ(norm(zeros({0, 2}, {.dtype = DType::f64})).numel(), 0);
  EXPECT_EQ(norm.running_mean.to_doubles(), mean);
  EXPECT_EQ(norm.running_var.to_doubles(), var);
  EXPECT_EQ(norm.num_batches_tracked.item(), 2);
}

TEST(BatchNormTest, ReluInTheSamePassGivesWhatReluAfterItGives) {
  manual_seed(6);
  BatchNorm2d plain(3, {.dtype = DType::f64});
  BatchNorm2d fused(3, {.activation = NormActivation::relu, .dtype = DType::f64});
  const Tensor data = randn({4, 3, 5, 2}, {.dtype = DType::f64});
  Tensor a = data.clone().requires_grad_();
  Tensor b = data.clone().requires_grad_();
  const Tensor expected = relu(plain(a));
  const Tensor y = fused(b);
  EXPECT_THAT(y.to_doubles(), Pointwise(DoubleNear(1e-14), expected.to_doubles()));

  const Tensor dy = randn(y.shape(), {.dtype = DType::f64});
  expected.backward(dy);
  y.backward(dy);
  EXPECT_THAT(b.grad().to_doubles(), Pointwise(DoubleNear(1e-13), a.grad().to_doubles()));
  EXPECT_THAT(fused.weight.grad().to_doubles(),
              Pointwise(DoubleNear(1e-13), plain.weight.grad().to_doubles()));

  plain.eval();
  fused.eval();
  EXPECT_THAT(fused(data).to_doubles(),
              Pointwise(DoubleNear(1e-14), relu(plain(data)).to_doubles()));
}

TEST(BatchNormTest, OtherShapesAreRefused) {
  BatchNorm2d norm(3);
  try {
    norm(ones({2, 4, 5, 5}));
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(
        e.what(),
        AllOf(HasSubstr("BatchNorm2d"), HasSubstr("(2, 4, 5, 5)"), HasSubstr("3 channels")));
  }
  EXPECT_THROW(norm(ones({2, 3})), InvalidArgument);
  EXPECT_THROW(BatchNorm1d(3)(ones({2, 3, 4, 4})), InvalidArgument);
  EXPECT_THROW(BatchNorm1d(0), InvalidArgument);
}

}  // namespace
}  // namespace tandem::nn
