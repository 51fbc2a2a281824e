// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Types of 16 bits: each op computes in f32 and rounds once, so its result is that of f32, rounded.

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/attention.hpp"
#include "tandem/ops/batch_norm.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/cumsum.hpp"
#include "tandem/ops/dropout.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/layer_norm.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/pool.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/softmax.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "ops/half_step.hpp"
#include "ops/near.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using testing::near;
using testing::thrown_text;

/// Normal numbers that the type holds.
Tensor numbers(const Shape& shape, DType t) {
  return randn(shape).to(t);
}

class Float16OpTest : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types,
                         Float16OpTest,
                         ::testing::Values(DType::bf16, DType::f16),
                         [](const auto& type) { return std::string(name(type.param)); });

struct Float16Case {
  const char* name;
  std::function<Tensor(const Tensor&, const Tensor&)> op;
};

const std::vector<Float16Case>& elementwise_cases() {
  static const std::vector<Float16Case> cases{
      {"add", [](const Tensor& a, const Tensor& b) { return a + b; }},
      {"sub", [](const Tensor& a, const Tensor& b) { return a - b; }},
      {"mul", [](const Tensor& a, const Tensor& b) { return a * b; }},
      {"div", [](const Tensor& a, const Tensor& b) { return a / b; }},
      {"number", [](const Tensor& a, const Tensor&) { return a * 0.1 + 3; }},
      {"maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); }},
      {"exp", [](const Tensor& a, const Tensor&) { return exp(a); }},
      {"gelu", [](const Tensor& a, const Tensor&) { return gelu(a); }},
      {"pow", [](const Tensor& a, const Tensor&) { return pow(abs(a), 1.5); }},
      {"where", [](const Tensor& a, const Tensor& b) { return where(lt(a, b), a, b); }},
      {"amax", [](const Tensor& a, const Tensor&) { return amax(a, {1}); }},
      {"softmax", [](const Tensor& a, const Tensor&) { return softmax(a, 1); }},
  };
  return cases;
}

TEST_P(Float16OpTest, ElementwiseIsF32Rounded) {
  const DType t = GetParam();
  for (const Shape& shape : {Shape{37, 65}, Shape{1, 65}}) {
    const Tensor a = numbers({37, 65}, t), b = numbers(shape, t);
    for (const Float16Case& c : elementwise_cases()) {
      const Tensor y = c.op(a, b);
      EXPECT_EQ(y.dtype(), t) << c.name;
      const Tensor wide = c.op(a.to(DType::f32), b.to(DType::f32));
      // Two roundings where the case has two ops.
      EXPECT_TRUE(near(y, wide.to(t), 4 * testing::half_step(t))) << c.name;
      if (std::string(c.name) != "number" && std::string(c.name) != "pow") {
        EXPECT_EQ(y.to_doubles(), wide.to(t).to_doubles()) << c.name;
      }
    }
  }
}

TEST_P(Float16OpTest, GradientsComeInTheTypeOfTheInput) {
  const Tensor x = numbers({5, 7}, GetParam()).requires_grad_();
  sum(gelu(x) * x).backward();
  ASSERT_EQ(x.grad().dtype(), GetParam());
  const Tensor wide = x.detach().to(DType::f32).requires_grad_();
  sum(gelu(wide) * wide).backward();
  EXPECT_TRUE(
      near(x.grad().to_doubles(), wide.grad().to_doubles(), 8 * testing::half_step(GetParam())));
}

TEST_P(Float16OpTest, SumsAddUpInF32) {
  // In the type itself a sum of ones would end at 256 or 2048, where a step is 2.
  const Tensor x = ones({4096, 3}, {.dtype = GetParam()});
  EXPECT_EQ(sum(x, {0}).to_doubles(), (std::vector<double>{4096, 4096, 4096}));
  EXPECT_EQ(mean(x).item(), 1);
}

TEST_P(Float16OpTest, ProductsAddUpInF32) {
  const DType t = GetParam();
  for (const auto path : {KernelPath::native, KernelPath::fastest}) {
    const ContextScope scope([path](Context& c) { c.path = path; });
    const Tensor a = numbers({3, 70, 300}, t), b = numbers({300, 90}, t), bias = numbers({90}, t);
    const Tensor exact = matmul(a.to(DType::f64), b.to(DType::f64));
    EXPECT_TRUE(near(matmul(a, b), exact, testing::half_step(t)));
    const Tensor same = numbers({3, 300, 1}, t).expand({3, 300, 90});  // strides of zero
    EXPECT_TRUE(near(
        matmul(a, same), matmul(a.to(DType::f64), same.to(DType::f64)), testing::half_step(t)));
    EXPECT_TRUE(near(linear(a, b.t(), bias), exact + bias.to(DType::f64), testing::half_step(t)));
    EXPECT_EQ(matmul(a, b).dtype(), t);
  }
}

TEST_P(Float16OpTest, CopiesGathersAndSumsOfRowsKeepTheType) {
  const DType t = GetParam();
  const Tensor x = numbers({6, 40}, t);
  EXPECT_EQ(x.t().contiguous().t().to_doubles(), x.to_doubles());
  const Tensor rows = tensor<std::int64_t>({4, 0, 4});
  const Tensor picked = index_select(x, 0, rows);
  EXPECT_EQ(picked.dtype(), t);
  EXPECT_EQ(picked.select(0, 2).to_doubles(), x.select(0, 4).to_doubles());
  EXPECT_EQ(cat({x, x}, 0).to_doubles().size(), 480U);
  for (const DType other : {DType::f64, DType::i32, DType::u8, DType::boolean, DType::bf16}) {
    const Tensor small = arange(0, 200, 1, {.dtype = other});
    EXPECT_EQ(small.to(t).to(other).to_doubles(), small.to_doubles()) << other;
  }
}

TEST_P(Float16OpTest, UniformNumbersStayBelowOne) {
  const Tensor x = rand({20000}, {.dtype = GetParam()});
  EXPECT_LT(amax(x).item(), 1);
  EXPECT_GE(amin(x).item(), 0);
  EXPECT_NEAR(mean(x.to(DType::f64)).item(), 0.5, 0.01);
}

TEST_P(Float16OpTest, DropoutScalesWhatItKeeps) {
  const Tensor y = dropout(ones({64, 64}, {.dtype = GetParam()}), 0.5);
  EXPECT_EQ(y.dtype(), GetParam());
  for (const double v : y.to_doubles())
    EXPECT_TRUE(v == 0 || v == 2) << v;
}

struct WideCase {
  const char* name;
  std::function<Tensor(const Tensor&)> op;  // of (2, 4, 6, 6)
};

TEST_P(Float16OpTest, OpsWithoutAKernelOf16BitsGoThroughF32) {
  const DType t = GetParam();
  const Tensor ones_of = ones({4}, {.dtype = t}), none = zeros({4}, {.dtype = t});
  std::vector<WideCase> cases{
      {"max_pool2d",
       [](const Tensor& x) {
         return max_pool2d(x, {2, 2});
       }},
      {"avg_pool2d",
       [](const Tensor& x) {
         return avg_pool2d(x, {2, 2});
       }},
      {"adaptive_avg_pool2d",
       [](const Tensor& x) {
         return adaptive_avg_pool2d(x, {1, 1});
       }},
      {"batch_norm", [](const Tensor& x) { return batch_norm(x, {}, {}, 1e-5).y; }},
      {"batch_norm_eval",
       [&](const Tensor& x) {
         return batch_norm_eval(x, none.to(x.dtype()), ones_of.to(x.dtype()), {}, {}, 1e-5);
       }},
      {"layer_norm", [](const Tensor& x) { return layer_norm(x, {6}); }},
      {"group_norm", [](const Tensor& x) { return group_norm(x, 2); }},
      {"cumsum", [](const Tensor& x) { return cumsum(x, 1); }},
  };
  if (!testing::on_gpus())  // which have a kernel of 16 bits
    cases.push_back(
        {"attention", [](const Tensor& x) { return scaled_dot_product_attention(x, x, x); }});
  const Tensor x = numbers({2, 4, 6, 6}, t);
  for (const WideCase& c : cases) {
    const Tensor y = c.op(x), wide = c.op(x.to(DType::f32));
    EXPECT_EQ(y.dtype(), t) << c.name;
    EXPECT_EQ(y.to_doubles(), wide.to(t).to_doubles()) << c.name;
  }
}

TEST_P(Float16OpTest, AttentionIsNearThatOfF32) {
  const DType t = GetParam();
  const double tolerance = t == DType::bf16 ? 2e-2 : 2e-3;
  Tensor mask = zeros({5, 7}, {.dtype = t});
  mask.narrow(1, 5, 2).fill_(-std::numeric_limits<double>::infinity());
  const AttentionOptions causal{.causal = true};
  for (const bool is_causal : {false, true}) {
    const std::int64_t keys = is_causal ? 5 : 7;
    const auto attend = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
      if (is_causal) return scaled_dot_product_attention(q, k, v, {}, causal);
      return scaled_dot_product_attention(q, k, v, mask.to(q.dtype()));
    };
    std::vector<Tensor> in, wide;
    for (const std::int64_t rows : {std::int64_t{5}, keys, keys}) {
      in.push_back(numbers({2, 3, rows, 8}, t).requires_grad_());
      wide.push_back(in.back().detach().to(DType::f32).requires_grad_());
    }
    const Tensor y = attend(in[0], in[1], in[2]), expected = attend(wide[0], wide[1], wide[2]);
    EXPECT_EQ(y.dtype(), t);
    EXPECT_TRUE(testing::near(y, expected, tolerance));
    sum(y * y).backward();
    sum(expected * expected).backward();
    for (std::size_t i = 0; i < in.size(); ++i) {
      EXPECT_EQ(in[i].grad().dtype(), t);
      EXPECT_TRUE(testing::near(in[i].grad(), wide[i].grad(), 2 * tolerance)) << "input " << i;
    }
  }
}

TEST_P(Float16OpTest, LossesComeInF32) {
  const Tensor logits = numbers({6, 5}, GetParam()), wide = logits.to(DType::f32);
  const Tensor labels = tensor<std::int64_t>({0, 1, 2, 3, 4, 0});
  const Tensor loss = cross_entropy(logits, labels);
  EXPECT_EQ(loss.dtype(), DType::f32);
  EXPECT_EQ(loss.item(), cross_entropy(wide, labels).item());
  EXPECT_EQ(mse_loss(logits, logits * 0).item(), mse_loss(wide, wide * 0).item());
  const Tensor target = zeros({6, 5});
  EXPECT_EQ(bce_with_logits(logits, target).item(), bce_with_logits(wide, target).item());
}

TEST(Float16PrintTest, NumbersOf16BitsPrintAsFloats) {
  EXPECT_EQ(tensor({1.0F, 0.5F}).to(DType::bf16).to_string(), "[ 1., 0.5]");
}

}  // namespace
}  // namespace tandem
