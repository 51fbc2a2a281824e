// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/outside_gradients.hpp"

#include <gmock/gmock.h>

#include "tandem/tensor/factories.hpp"

#include "devices.hpp"

namespace tandem::parallel::test {
namespace {

using autograd::OutsideTensors;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Tensor trained_number(double value) {
  return full({1}, value, {.dtype = DType::f64, .device = testing::device(0)}).requires_grad_();
}

/// A device that has found these tensors, with a gradient of 1 for the first, 2 for the next, ...
std::shared_ptr<OutsideTensors> device_with(const std::vector<Tensor>& found) {
  auto own = std::make_shared<OutsideTensors>(1);
  double value = 0;
  for (const Tensor& x : found)
    own->leaf_for(x).set_grad(full({1}, ++value, {.dtype = DType::f64, .device = x.device()}));
  return own;
}

TEST(OutsideGradientsTest, ListsEachTensorOnceInTheOrderOfTheDevices) {
  const Tensor a = trained_number(1), b = trained_number(2), c = trained_number(3);
  const auto all = outside_tensors({device_with({b, a}), nullptr, device_with({c, b})});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all[0].outside.is(b));
  EXPECT_TRUE(all[1].outside.is(a));
  EXPECT_TRUE(all[2].outside.is(c));
  ASSERT_EQ(all[0].leaves.size(), 3u);
  EXPECT_TRUE(all[0].leaves[0].defined());
  EXPECT_FALSE(all[0].leaves[1].defined()) << "it has not run";
  EXPECT_TRUE(all[0].leaves[2].defined());
  EXPECT_FALSE(all[1].leaves[2].defined()) << "it did not use it";
}

TEST(OutsideGradientsTest, PassesOnTheSumOfTheDevicesTimesAFactor) {
  const Tensor a = trained_number(1), b = trained_number(2);
  pass_outside({device_with({a, b}), device_with({b, a}), nullptr}, 0.5);
  EXPECT_THAT(a.grad().to_doubles(), ElementsAre(1.5)) << "(1 + 2) / 2";
  EXPECT_THAT(b.grad().to_doubles(), ElementsAre(1.5)) << "(2 + 1) / 2";
}

TEST(OutsideGradientsTest, ATensorWithoutGradientIsLeftOut) {
  const Tensor a = trained_number(1);
  const auto own = std::make_shared<OutsideTensors>(1);
  own->leaf_for(a);
  pass_outside({own}, 1);
  EXPECT_FALSE(a.grad().defined());
  EXPECT_THAT(outside_tensors({nullptr, nullptr}), IsEmpty());
  EXPECT_NO_THROW(pass_outside({nullptr}, 1));
}

TEST(OutsideGradientsTest, ScalesOneDevicesGradients) {
  const Tensor a = trained_number(1), b = trained_number(2);
  const auto first = device_with({a, b}), second = device_with({a, b});
  second->leaf_for(b).set_grad({});
  scale_outside(first, 10);
  scale_outside(nullptr, 10);
  pass_outside({first, second}, 1);
  EXPECT_THAT(a.grad().to_doubles(), ElementsAre(11));
  EXPECT_THAT(b.grad().to_doubles(), ElementsAre(20));
}

}  // namespace
}  // namespace tandem::parallel::test
