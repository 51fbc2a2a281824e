// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/init.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "tandem/nn/conv1d.hpp"
#include "tandem/nn/conv2d.hpp"
#include "tandem/nn/conv_transpose2d.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"

namespace tandem::nn {
namespace {

struct Statistics {
  double mean, deviation, low, high;
};

Statistics statistics(const Tensor& x) {
  const std::vector<double> v = x.to_doubles();
  const auto n = static_cast<double>(v.size());
  const double mean = std::accumulate(v.begin(), v.end(), 0.0) / n;
  const double square = std::inner_product(v.begin(), v.end(), v.begin(), 0.0) / n;
  const auto [low, high] = std::ranges::minmax(v);
  return {mean, std::sqrt(square - mean * mean), low, high};
}

/// 40,000 uniform numbers within `bound`: mean and deviation within five standard errors, and the
/// extremes near the bound.
void expect_uniform(const Tensor& x, double bound) {
  const Statistics s = statistics(x);
  const double error = 5 * bound / std::sqrt(static_cast<double>(x.numel()));
  EXPECT_NEAR(s.mean, 0, error);
  EXPECT_NEAR(s.deviation, bound / std::sqrt(3.0), error);
  EXPECT_GE(s.low, -bound);
  EXPECT_LE(s.high, bound);
  EXPECT_LT(s.low, -0.99 * bound);
  EXPECT_GT(s.high, 0.99 * bound);
}

void expect_normal(const Tensor& x, double deviation) {
  const Statistics s = statistics(x);
  const double error = 5 * deviation / std::sqrt(static_cast<double>(x.numel()));
  EXPECT_NEAR(s.mean, 0, error);
  EXPECT_NEAR(s.deviation, deviation, error);
  EXPECT_GT(s.high, 3 * deviation);
}

class InitTest : public ::testing::Test {
 protected:
  void SetUp() override { manual_seed(1); }
  Tensor weight = empty({100, 16, 5, 5});  // fan in 400, fan out 2,500
};

TEST_F(InitTest, GainIsWhatKeepsTheVarianceBehindANonlinearity) {
  EXPECT_EQ(init::gain(init::Nonlinearity::linear), 1);
  EXPECT_EQ(init::gain(init::Nonlinearity::sigmoid), 1);
  EXPECT_DOUBLE_EQ(init::gain(init::Nonlinearity::tanh), 5.0 / 3);
  EXPECT_DOUBLE_EQ(init::gain(init::Nonlinearity::relu), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(init::gain(init::Nonlinearity::leaky_relu, 1), 1);
}

TEST_F(InitTest, FansCountTheReceptiveField) {
  EXPECT_EQ(init::fans(weight).in, 400);
  EXPECT_EQ(init::fans(weight).out, 2500);
  EXPECT_THROW(init::fans(empty({3})), InvalidArgument);
}

TEST_F(InitTest, KaimingHasPyTorchsBounds) {
  expect_uniform(init::kaiming_uniform_(weight), std::sqrt(6.0 / 400));
  expect_uniform(init::kaiming_uniform_(weight, {.slope = std::sqrt(5.0)}), 1.0 / 20);
  expect_uniform(init::kaiming_uniform_(
                     weight, {.fan = init::Fan::out, .nonlinearity = init::Nonlinearity::tanh}),
                 5.0 / 3 * std::sqrt(3.0 / 2500));
  expect_normal(init::kaiming_normal_(weight, {.nonlinearity = init::Nonlinearity::relu}),
                std::sqrt(2.0 / 400));
}

TEST_F(InitTest, XavierHasPyTorchsBounds) {
  expect_uniform(init::xavier_uniform_(weight, 2), 2 * std::sqrt(6.0 / 2900));
  expect_normal(init::xavier_normal_(weight), std::sqrt(2.0 / 2900));
}

TEST_F(InitTest, FillsWorkOnParametersInPlace) {
  Linear layer(200, 200);
  const Tensor handle = layer.weight;
  init::ones_(layer.weight);
  EXPECT_EQ(statistics(handle).low, 1);
  init::zeros_(layer.weight);
  EXPECT_EQ(statistics(handle).high, 0);
  init::constant_(layer.weight, 0.5);
  EXPECT_EQ(statistics(handle).mean, 0.5);
  init::uniform_(layer.weight, -3, 3);
  expect_uniform(handle, 3);
  init::normal_(layer.weight, 0, 2);
  expect_normal(handle, 2);
  EXPECT_TRUE(handle.requires_grad() && handle.is_leaf());
}

TEST_F(InitTest, LayersStartWithinOneOverRootOfTheInputs) {
  const Linear linear(400, 1000);
  expect_uniform(linear.weight, 1.0 / 20);
  expect_uniform(linear.bias, 1.0 / 20);
  const Conv2d conv(32, 1000, {5, 5}, {.groups = 2});
  EXPECT_EQ(conv.weight.shape(), (Shape{1000, 16, 5, 5}));
  expect_uniform(conv.weight, 1.0 / 20);
  expect_uniform(conv.bias, 1.0 / 20);
  const Conv1d line(32, 1000, 25, {.groups = 2});
  EXPECT_EQ(line.weight.shape(), (Shape{1000, 16, 25}));
  expect_uniform(line.weight, 1.0 / 20);
  expect_uniform(line.bias, 1.0 / 20);
}

TEST_F(InitTest, ATransposedConvolutionCountsTheOutputsOfItsGroups) {
  const ConvTranspose2d conv(500, 1000, {10, 20}, {.groups = 500});
  EXPECT_EQ(conv.weight.shape(), (Shape{500, 2, 10, 20}));
  expect_uniform(conv.weight, 1.0 / 20);
  expect_uniform(conv.bias, 1.0 / 20);
}

TEST_F(InitTest, OneSeedGivesOneNet) {
  manual_seed(7);
  const Linear a(5, 4);
  const Linear b(5, 4);
  manual_seed(7);
  const Linear c(5, 4, {.device = testing::device(1)});
  EXPECT_EQ(a.weight.to_doubles(), c.weight.to_doubles());
  EXPECT_NE(a.weight.to_doubles(), b.weight.to_doubles());
}

}  // namespace
}  // namespace tandem::nn
