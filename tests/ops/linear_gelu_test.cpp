// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/linear_gelu.hpp"

#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/autograd/checkpoint.hpp"
#include "tandem/autograd/gradcheck.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/autocast.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/context.hpp"

#include "ops/near.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::Combine;
using testing::expect_fused_is_formula;
using ::testing::HasSubstr;
using testing::leaf;
using testing::near;
using testing::thrown_text;
using ::testing::Values;

struct LinearSizes {
  std::int64_t rows, in, out;
  friend std::ostream& operator<<(std::ostream& s, const LinearSizes& z) {
    return s << z.rows << " x " << z.in << " x " << z.out;
  }
};

double tolerance_of_gelu(DType t) {
  if (t == DType::f64) return 1e-13;
  if (t == DType::f32) return 2e-5;
  return t == DType::bf16 ? 0x1p-6 : 0x1p-9;
}

class LinearGeluTest
    : public ::testing::TestWithParam<std::tuple<LinearSizes, DType, Gelu, KernelPath>> {};

TEST_P(LinearGeluTest, IsLinearThenGeluWithTheirGradients) {
  const auto& [z, dtype, form, path] = GetParam();
  const ContextScope scope([path = path](Context& c) {
    c.path = path;
    c.threads = 3;
  });
  const auto fused = [form = form](const std::vector<Tensor>& in) {
    return linear_gelu(in[0], in[1], in[2], form);
  };
  const auto separate = [form = form](const std::vector<Tensor>& in) {
    return gelu(linear(in[0], in[1], in[2]), form);
  };
  const std::vector<Tensor> in{
      leaf({z.rows, z.in}, dtype), leaf({z.out, z.in}, dtype), leaf({z.out}, dtype)};
  const Tensor y = fused(in), parts = separate(in);
  EXPECT_EQ(y.dtype(), dtype);
  EXPECT_TRUE(near(y, parts, tolerance_of_gelu(dtype)));
  const Tensor dy = randn(y.shape()).to(dtype);
  const auto got = autograd::grad({y}, in, {dy}), wanted = autograd::grad({parts}, in, {dy});
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_TRUE(near(got[i], wanted[i], tolerance_of_gelu(dtype))) << "input " << i;
  }
}

// 2048 rows: parts of several blocks; 1030 columns: more than a block has, no multiple of 8.
INSTANTIATE_TEST_SUITE_P(LinearSizes,
                         LinearGeluTest,
                         Combine(Values(LinearSizes{5, 3, 7},
                                        LinearSizes{0, 3, 8},
                                        LinearSizes{1, 4, 8},
                                        LinearSizes{200, 16, 1030},
                                        LinearSizes{4100, 4, 24},
                                        LinearSizes{130, 64, 96}),
                                 Values(DType::f32, DType::f64, DType::bf16, DType::f16),
                                 Values(Gelu::exact, Gelu::tanh),
                                 Values(KernelPath::native, KernelPath::fastest)));

TEST(LinearGelu, FusedIsFormula) {
  for (const Gelu form : {Gelu::exact, Gelu::tanh}) {
    expect_fused_is_formula(
        [form](const std::vector<Tensor>& in) { return linear_gelu(in[0], in[1], in[2], form); },
        {leaf({9, 5}), leaf({8, 5}), leaf({8})},
        1e-12);
    expect_fused_is_formula(
        [form](const std::vector<Tensor>& in) {
          return linear_gelu(in[0].t(), in[1].t(), {}, form);
        },
        {leaf({5, 9}), leaf({5, 8})},
        1e-12);
  }
}

TEST(LinearGelu, GradientsAgreeWithDifferencesTwice) {
  for (const Gelu form : {Gelu::exact, Gelu::tanh}) {
    const auto f = [form](const std::vector<Tensor>& in) {
      return std::vector<Tensor>{linear_gelu(in[0], in[1], in[2], form)};
    };
    for (const Shape& shape : {Shape{3, 5}, Shape{5}, Shape{2, 2, 5}, Shape{0, 5}}) {
      EXPECT_EQ(autograd::gradcheck(f, {leaf(shape), leaf({4, 5}), leaf({4})}), "") << shape;
      EXPECT_EQ(
          autograd::gradgradcheck(f, {leaf(shape), leaf({4, 5}), leaf({4})}, testing::twice()), "")
          << shape;
    }
  }
}

TEST(LinearGelu, OnlyWhatAsksForAGradientGetsOne) {
  const Tensor x = randn({6, 4}), w = leaf({8, 4}, DType::f32), b = randn({8});
  sum(linear_gelu(x, w, b)).backward();
  const Tensor alone = w.detach().requires_grad_();
  sum(gelu(linear(x, alone, b))).backward();
  EXPECT_TRUE(near(w.grad(), alone.grad(), 1e-5));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(b.grad().defined());
}

// What goes into GELU is as large as the result: a checkpoint has to be able to let go of it.
TEST(LinearGelu, ACheckpointMakesItsTensorsAgain) {
  const Tensor w = leaf({8, 4}), b = leaf({8});
  const auto f = [&](const Tensor& x) { return linear_gelu(linear_gelu(x, w, b), w.t(), {}); };
  const Tensor x = leaf({6, 4});
  const std::vector<Tensor> kept = autograd::grad({sum(f(x))}, {x, w, b});
  const std::vector<Tensor> again = autograd::grad({sum(autograd::checkpoint(f, x))}, {x, w, b});
  for (std::size_t i = 0; i < kept.size(); ++i)
    EXPECT_EQ(again[i].to_doubles(), kept[i].to_doubles()) << "input " << i;
}

TEST(LinearGelu, TheBiasGradientHasTheSameBitsForAnyNumberOfThreads) {
  const Tensor b = leaf({48}, DType::f32), dy = randn({4100, 48});
  std::vector<double> first;
  for (const int threads : {1, 2, 5}) {
    const ContextScope scope([threads](Context& c) {
      c.threads = threads;
      c.path = KernelPath::native;
    });
    const Tensor y = linear_gelu(ones({4100, 1}), zeros({48, 1}), b);
    const std::vector<double> g = autograd::grad({y}, {b}, {dy})[0].to_doubles();
    if (first.empty()) first = g;
    EXPECT_EQ(g, first) << threads << " threads";
  }
}

TEST(LinearGelu, AutocastMultipliesNarrow) {
  const Autocast mixed(DType::bf16);
  const Tensor w = leaf({8, 4}, DType::f32);
  const Tensor y = linear_gelu(randn({6, 4}), w, {});
  EXPECT_EQ(y.dtype(), DType::bf16);
  sum(y).backward();
  EXPECT_EQ(w.grad().dtype(), DType::f32);
}

TEST(LinearGelu, ErrorsNameTheOpAndBothShapes) {
  const Tensor x = randn({3, 5});
  EXPECT_THAT(thrown_text([&] {
                linear_gelu(x, randn({4, 6}));
              }),
              AllOf(HasSubstr("linear_gelu: x (3, 5)"), HasSubstr("(4, 6)")));
  EXPECT_THAT(thrown_text([&] {
                linear_gelu(x, randn({4, 5}), randn({5}));
              }),
              AllOf(HasSubstr("linear_gelu: bias (5)"), HasSubstr("expected (4)")));
  EXPECT_THAT(thrown_text([&] {
                linear_gelu(x, ones({4, 5}, {.dtype = DType::i64}));
              }),
              AllOf(HasSubstr("linear_gelu"), HasSubstr("i64")));
}

}  // namespace
}  // namespace tandem
