// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/tensor/factories.hpp"

// The exponential of f32 that becomes vectors, against that of f64.
namespace tandem {
namespace {

void expect_near(const Tensor& f32, const Tensor& f64, double tolerance) {
  const std::vector<double> a = f32.to_doubles(), b = f64.to_doubles();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], tolerance * std::max(1.0, std::abs(b[i]))) << "at " << i;
}

Tensor gradient(const Tensor& y, const Tensor& x) {
  return autograd::grad({y.sum()}, {x})[0];
}

TEST(ExponentialTest, GeluByTanh) {
  Tensor x = arange(-14, 14, 1.0 / 64, {.dtype = DType::f64});
  Tensor single = x.to(DType::f32).requires_grad_();
  x.requires_grad_();
  const Tensor y = gelu(single, Gelu::tanh), expected = gelu(x, Gelu::tanh);
  expect_near(y, expected, 5e-7);
  expect_near(gradient(y, single), gradient(expected, x), 1e-6);
  const Tensor far =
      gelu(tensor({-1e4F, 1e4F, std::numeric_limits<float>::quiet_NaN()}), Gelu::tanh);
  const std::vector<float> values = far.to_host<float>();
  EXPECT_NEAR(values[0], 0, 1e-30);
  EXPECT_EQ(values[1], 1e4F);
  EXPECT_TRUE(std::isnan(values[2]));
}

TEST(ExponentialTest, CrossEntropyOfRowsOfAnyLength) {
  for (const std::int64_t n : {1, 3, 31, 32, 33, 1000, 3000}) {
    Tensor single = (randn({5, n}) * 20.0).detach().requires_grad_();
    Tensor x = single.detach().to(DType::f64).requires_grad_();
    const Tensor labels = randint(0, n, {5});
    const Tensor y = cross_entropy(single, labels, Reduction::none);
    const Tensor expected = cross_entropy(x, labels, Reduction::none);
    expect_near(y, expected, 3e-6);
    expect_near(gradient(y, single), gradient(expected, x), 3e-6);
  }
}

TEST(ExponentialTest, ScoreThatIsRuledOutHasNoShare) {
  Tensor x = zeros({1, 40});
  x.select(1, 7).fill_(-std::numeric_limits<double>::infinity());
  x.requires_grad_();
  const Tensor y = cross_entropy(x, zeros({1}, {.dtype = DType::i64}));
  EXPECT_NEAR(y.item(), std::log(39.0), 1e-6);
  EXPECT_EQ(gradient(y, x).select(1, 7).item(), 0.0);
}

}  // namespace
}  // namespace tandem
