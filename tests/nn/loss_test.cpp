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

TEST(LossTest, ACriterionIsNoStepOfTheRandomNumbers) {
  manual_seed(2);
  Linear net(3, 1, {.dtype = DType::f64});
  const MSELoss loss;
  loss(net(ones({2, 3}, {.dtype = DType::f64})), zeros({2, 1}, {.dtype = DType::f64}));
  EXPECT_EQ(Runtime::instance().forwards(), 1u);
}

}  // namespace
}  // namespace tandem::nn
