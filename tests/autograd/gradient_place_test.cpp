// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <vector>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/ops/linear_gelu.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/tensor/factories.hpp"

// Ops make a weight's gradient in the storage that it is bound to, where nothing is lost by it.
// Another leaf, which is bound to none, is the oracle.
namespace tandem {
namespace {

using ::testing::ElementsAreArray;

enum class Op { linear, linear_gelu };

class GradientPlaceTest : public ::testing::TestWithParam<Op> {
 protected:
  GradientPlaceTest() {
    weight.requires_grad_();
    plain.requires_grad_();
    autograd::bind_gradient(weight, storage);
  }

  Tensor loss(const Tensor& w) const {
    const Tensor bias = zeros({kOut}, {.dtype = DType::f64});
    return sum(GetParam() == Op::linear ? linear(x, w) : linear_gelu(x, w, bias));
  }
  void expect_the_gradient_of_the_other() const {
    EXPECT_THAT(storage.to_doubles(), ElementsAreArray(plain.grad().to_doubles()));
    EXPECT_THAT(weight.grad().to_doubles(), ElementsAreArray(plain.grad().to_doubles()));
  }

  static constexpr std::int64_t kRows = 2, kIn = 64, kOut = 128;
  const Tensor x = randn({kRows, kIn}, {.dtype = DType::f64});
  Tensor weight = randn({kOut, kIn}, {.dtype = DType::f64}), plain = weight.clone();
  const Tensor storage = full({kOut, kIn}, 99, {.dtype = DType::f64});
};

TEST_P(GradientPlaceTest, IsTheStorageAndTakesNoMemoryBeside) {
  const Tensor y = loss(weight);
  LogicalDevice& device = logical_device(weight.device());
  device.reset_peak();
  const std::size_t before = device.memory_stats().in_use;
  y.backward();
  EXPECT_LT(device.memory_stats().peak, before + weight.nbytes());
  loss(plain).backward();
  expect_the_gradient_of_the_other();
}

TEST_P(GradientPlaceTest, KeepsWhatEarlierBackwardsHaveLeft) {
  for (const Tensor& w : {weight, plain})
    for (int i = 0; i < 2; ++i)
      (loss(w) * (i + 1.0)).backward();
  expect_the_gradient_of_the_other();
}

TEST_P(GradientPlaceTest, HasTheSumWhereSeveralOpsUseTheWeight) {
  for (const Tensor& w : {weight, plain})
    (loss(w) + loss(w) * 3.0).backward();
  expect_the_gradient_of_the_other();
}

TEST_P(GradientPlaceTest, IsNotWhatAHookGets) {
  std::vector<Tensor> seen;
  autograd::register_hook(weight, [&seen](const Tensor& gradient) {
    seen.push_back(gradient);
    return Tensor();
  });
  for (int i = 0; i < 2; ++i) {
    weight.set_grad({});
    (loss(weight) * (i + 1.0)).backward();
  }
  loss(plain).backward();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_THAT(seen[0].to_doubles(), ElementsAreArray(plain.grad().to_doubles()))
      << "it is not written again";
}

INSTANTIATE_TEST_SUITE_P(Ops,
                         GradientPlaceTest,
                         ::testing::Values(Op::linear, Op::linear_gelu),
                         [](const auto& p) {
                           return p.param == Op::linear ? "linear" : "linear_gelu";
                         });

}  // namespace
}  // namespace tandem
