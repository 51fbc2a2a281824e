// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/autocast.hpp"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/attention.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/softmax.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using testing::thrown_text;

TEST(AutocastTest, ProductsAreNarrowAndSoftmaxIsWide) {
  const Tensor x = randn({4, 8}), w = randn({3, 8}).requires_grad_();
  const Autocast mixed(DType::bf16);
  const Tensor y = linear(x, w, {});
  EXPECT_EQ(y.dtype(), DType::bf16);
  EXPECT_EQ(softmax(y, 1).dtype(), DType::f32);
  EXPECT_EQ((y + x.narrow(1, 0, 3)).dtype(), DType::f32) << "the lattice joins bf16 and f32";
  sum(softmax(y, 1) * softmax(y, 1)).backward();
  EXPECT_EQ(w.grad().dtype(), DType::f32) << "the master weight's";
}

TEST(AutocastTest, F64StaysAndAnInnerScopeTurnsItOff) {
  const Autocast mixed(DType::f16);
  const Tensor x = randn({2, 2}, {.dtype = DType::f64});
  EXPECT_EQ(matmul(x, x).dtype(), DType::f64);
  EXPECT_EQ(matmul(randn({2, 2}), randn({2, 2})).dtype(), DType::f16);
  const Autocast off(DType::f32);
  EXPECT_EQ(matmul(randn({2, 2}), randn({2, 2})).dtype(), DType::f32);
}

TEST(AutocastTest, AttentionIsAProduct) {
  const Tensor q = randn({2, 5, 8}).requires_grad_();
  const Autocast mixed(DType::bf16);
  const Tensor y = scaled_dot_product_attention(q, q.to(DType::bf16), q);
  EXPECT_EQ(y.dtype(), DType::bf16);
  y.sum().backward();
  EXPECT_EQ(q.grad().dtype(), DType::f32);
}

TEST(AutocastTest, WhatNeedsRangeIsWideAndItsGradientIsNot) {
  const Autocast mixed(DType::f16);
  const Tensor x = full({3, 40000}, 2, {.dtype = DType::f16}).requires_grad_();
  EXPECT_EQ(sum(x, {1}).to_doubles(), std::vector<double>(3, 80000)) << "f16 ends at 65504";
  EXPECT_EQ(exp(x * 6.0).dtype(), DType::f32);
  EXPECT_NEAR(exp(x * 6.0).to_doubles()[0], std::exp(12.0), 1);
  for (const Tensor& y : {log(x), pow(x, 3), pow(x, 2), rsqrt(x), reciprocal(x), softplus(x)}) {
    EXPECT_EQ(y.dtype(), DType::f32);
  }
  EXPECT_EQ(sqrt(x).dtype(), DType::f16);
  // The formulas add up and take powers too, in the types of the forward.
  const Tensor b = randn({4}).requires_grad_(), w = randn({4, 6}).requires_grad_();
  const auto wide =
      autograd::grad({sum(tanh(linear(randn({5, 6}), w, b)))}, {w, b}, {}, {.create_graph = true});
  EXPECT_EQ(wide[0].dtype(), DType::f32);
  EXPECT_EQ(wide[1].dtype(), DType::f32);
}

TEST(AutocastTest, OtherTypesAreRefused) {
  EXPECT_EQ(thrown_text<InvalidArgument>([] { const Autocast wrong(DType::f64); }),
            "Autocast: f64 is not one of bf16, f16 and f32 (off)");
}

}  // namespace
}  // namespace tandem
