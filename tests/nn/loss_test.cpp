// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/loss.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "tandem/nn/linear.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"

namespace tandem::nn {
namespace {

TEST(CrossEntropyLossTest, SumAndWeightOfPartsGiveTheMeanOfTheWhole) {
  manual_seed(2);
  const CrossEntropyLoss loss(
      {.ignore_index = 2, .class_weight = tensor<double>({1, 3, 100, 0.5})});
  const Tensor logits = randn({6, 4}, {.dtype = DType::f64});
  const Tensor labels = tensor<std::int64_t>({0, 1, 2, 3, 2, 1});

  double sum = 0, weight = 0;
  for (const auto& [begin, rows] : {std::pair(0, 2), std::pair(2, 1), std::pair(3, 3)}) {
    const WeightedSum part =
        loss.sum_and_weight(logits.narrow(0, begin, rows), labels.narrow(0, begin, rows));
    sum += part.sum.item();
    weight += part.weight.item();
  }
  EXPECT_DOUBLE_EQ(weight, 1 + 3 + 0.5 + 3);
  EXPECT_NEAR(loss(logits, labels).item(), sum / weight, 1e-14);
}

TEST(CrossEntropyLossTest, WeightsFollowTheLogitsToTheirDevice) {
  const CrossEntropyLoss loss({.class_weight = tensor<double>({1, 3})});
  const Device other = testing::device(1);
  const Tensor logits = zeros({2, 2}, {.dtype = DType::f64, .device = other});
  const Tensor labels = zeros({2}, {.dtype = DType::i64, .device = other});
  EXPECT_NEAR(loss(logits, labels).item(), std::log(2.0), 1e-15);
}

TEST(MSELossTest, ReductionsAndParts) {
  const Tensor a = tensor<double>({1, 2, 3}), b = tensor<double>({3, 2, 0});
  EXPECT_DOUBLE_EQ(MSELoss()(a, b).item(), 13.0 / 3);
  EXPECT_DOUBLE_EQ(MSELoss(Reduction::sum)(a, b).item(), 13);
  EXPECT_EQ(MSELoss(Reduction::none)(a, b).to_doubles(), (std::vector<double>{4, 0, 9}));
  const WeightedSum parts = MSELoss().sum_and_weight(a, b);
  EXPECT_DOUBLE_EQ(parts.sum.item(), 13);
  EXPECT_DOUBLE_EQ(parts.weight.item(), 3);
}

/// Each module is its function, and its parts give its mean.
template <class Loss>
void expect_function(const Loss& loss, const Tensor& a, const Tensor& b, const Tensor& expected) {
  EXPECT_DOUBLE_EQ(loss(a, b).item(), expected.item()) << loss.type_name();
  const WeightedSum parts = loss.sum_and_weight(a, b);
  EXPECT_NEAR(parts.sum.item() / parts.weight.item(), expected.item(), 1e-15) << loss.type_name();
}

TEST(LossTest, ModulesAreTheirFunctions) {
  manual_seed(2);
  constexpr Reduction kMean = Reduction::mean;
  const Tensor a = randn({3, 4}, {.dtype = DType::f64}), b = rand({3, 4}, {.dtype = DType::f64});
  const Tensor labels = tensor<std::int64_t>({0, 3, 2}), weight = tensor<double>({1, 3, 2, 0.5});
  expect_function(L1Loss(), a, b, l1_loss(a, b));
  expect_function(SmoothL1Loss(kMean, 0.5), a, b, smooth_l1_loss(a, b, kMean, 0.5));
  expect_function(HuberLoss(kMean, 0.5), a, b, huber_loss(a, b, kMean, 0.5));
  expect_function(BCEWithLogitsLoss({.weight = weight, .pos_weight = weight}),
                  a,
                  b,
                  bce_with_logits(a, b, kMean, {weight, weight}));
  expect_function(KLDivLoss(Reduction::batch_mean), a, b, kl_div(a, b, Reduction::batch_mean));
  expect_function(
      NLLLoss({.class_weight = weight}), a, labels, nll_loss(a, labels, kMean, {-100, weight}));
  expect_function(CrossEntropyLoss({.class_weight = weight, .label_smoothing = 0.1}),
                  a,
                  labels,
                  cross_entropy(a, labels, kMean, {-100, weight, 0.1}));
  EXPECT_EQ(BCEWithLogitsLoss({.weight = weight}).named_buffers().size(), 1u);
}

TEST(LossTest, ACriterionIsNoStepOfTheRandomNumbers) {
  manual_seed(2);
  Linear net(3, 1, {.dtype = DType::f64});
  const MSELoss loss;
  loss(net(ones({2, 3}, {.dtype = DType::f64})), zeros({2, 1}, {.dtype = DType::f64}));
  EXPECT_EQ(default_generator().forwards(), 1u);
}

}  // namespace
}  // namespace tandem::nn
