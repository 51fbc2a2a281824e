// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/batch_norm.hpp"

#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/autograd/gradcheck.hpp"
#include "tandem/core/error.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/context.hpp"

#include "ops/near.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::Combine;
using ::testing::Each;
using testing::expect_fused_is_formula;
using ::testing::HasSubstr;
using testing::leaf;
using testing::near;
using testing::thrown_text;
using ::testing::Values;

constexpr double kEps = 1e-5;

Tensor formatted(const Tensor& x, MemoryFormat format) {
  return x.ndim() == 4 ? x.contiguous(format) : x;
}

/// Two passes in f64 over the values of each channel of row-major x.
struct Expected {
  std::vector<double> y, mean, var;

  Expected(const Tensor& x, const std::vector<double>& weight, const std::vector<double>& bias) {
    const std::vector<double> v = x.to_doubles();
    const std::size_t channels = weight.size(),
                      inner = v.size() / (static_cast<std::size_t>(x.size(0)) * channels);
    const double count = static_cast<double>(v.size() / channels);
    mean.resize(channels);
    var.resize(channels);
    for (std::size_t i = 0; i < v.size(); ++i)
      mean[i / inner % channels] += v[i] / count;
    for (std::size_t i = 0; i < v.size(); ++i)
      var[i / inner % channels] += std::pow(v[i] - mean[i / inner % channels], 2) / count;
    for (std::size_t i = 0; i < v.size(); ++i) {
      const std::size_t c = i / inner % channels;
      y.push_back((v[i] - mean[c]) / std::sqrt(var[c] + kEps) * weight[c] + bias[c]);
    }
  }
};

class BatchNormTest : public ::testing::TestWithParam<std::tuple<Shape, DType, MemoryFormat, int>> {
 protected:
  Shape shape() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  MemoryFormat format() const { return std::get<2>(GetParam()); }
  double tolerance() const { return dtype() == DType::f64 ? 1e-13 : 2e-6; }

 private:
  ContextScope scope_{[](Context& c) { c.threads = std::get<3>(GetParam()); }};
};

TEST_P(BatchNormTest, FollowsTheDefinition) {
  const Tensor x = formatted(randn(shape(), {.dtype = dtype()}) * 2.0 + 3.0, format());
  const Tensor w = randn({shape()[1]}, {.dtype = dtype()}),
               b = randn({shape()[1]}, {.dtype = dtype()});
  const auto [y, statistics] = batch_norm(x, w, b, kEps);
  const Expected expected(x, w.to_doubles(), b.to_doubles());
  EXPECT_TRUE(near(y.to_doubles(), expected.y, tolerance()));
  EXPECT_TRUE(near(statistics.mean.to_doubles(), expected.mean, tolerance()));
  EXPECT_TRUE(near(statistics.var.to_doubles(), expected.var, tolerance()));
  EXPECT_EQ(statistics.count, x.numel() / shape()[1]);
  if (x.ndim() == 4) {
    EXPECT_TRUE(y.is_contiguous(format()));
  }

  EXPECT_TRUE(
      near(batch_norm_eval(x, statistics.mean, statistics.var, w, b, kEps), y, tolerance()));
  const Tensor plain = batch_norm(x, {}, {}, kEps).y;
  EXPECT_TRUE(
      near(plain.to_doubles(),
           Expected(x, std::vector<double>(w.numel(), 1), std::vector<double>(w.numel(), 0)).y,
           tolerance()));
  EXPECT_TRUE(near(batch_norm(x, w, b, kEps, BatchNormSync::per_replica, NormActivation::relu).y,
                   relu(y),
                   tolerance()));
}

TEST_P(BatchNormTest, FusedIsFormula) {
  const Tensor x = leaf(shape(), dtype()), w = leaf({shape()[1]}, dtype()),
               b = leaf({shape()[1]}, dtype());
  const double close = dtype() == DType::f64 ? 1e-12 : 2e-5;
  const Tensor mean = randn({shape()[1]}, {.dtype = dtype()}),
               var = rand({shape()[1]}, {.dtype = dtype()}) + 0.5;
  for (const NormActivation activation : {NormActivation::none, NormActivation::relu}) {
    const auto training = [&](const std::vector<Tensor>& in) {
      return batch_norm(formatted(in[0], format()),
                        in.size() > 1 ? in[1] : Tensor(),
                        in.size() > 2 ? in[2] : Tensor(),
                        kEps,
                        BatchNormSync::synchronised,
                        activation)
          .y;
    };
    const auto eval = [&](const std::vector<Tensor>& in) {
      return batch_norm_eval(formatted(in[0], format()),
                             mean,
                             var,
                             in.size() > 1 ? in[1] : Tensor(),
                             in.size() > 2 ? in[2] : Tensor(),
                             kEps,
                             activation);
    };
    expect_fused_is_formula(training, {x, w, b}, close);
    expect_fused_is_formula(training, {x}, close);
    expect_fused_is_formula(training, {x, w}, close);
    expect_fused_is_formula(eval, {x, w, b}, close);
    expect_fused_is_formula(eval, {x}, close);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes,
                         BatchNormTest,
                         Combine(Values(Shape{6, 5},
                                        Shape{4, 3, 7},
                                        Shape{3, 5, 4, 2},
                                        Shape{8, 43, 9, 9},
                                        Shape{2, 1, 40, 70}),
                                 Values(DType::f32, DType::f64),
                                 Values(MemoryFormat::contiguous, MemoryFormat::channels_last),
                                 Values(1, 2)));

TEST(BatchNorm, GradientsAgreeWithDifferencesTwice) {
  for (const Shape& shape : {Shape{4, 3}, Shape{2, 2, 3}, Shape{2, 3, 2, 2}}) {
    for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
      const auto training = [&](const std::vector<Tensor>& in) {
        return std::vector<Tensor>{batch_norm(formatted(in[0], format), in[1], in[2], 0.1).y};
      };
      const std::vector<Tensor> inputs{leaf(shape), leaf({shape[1]}), leaf({shape[1]})};
      EXPECT_EQ(autograd::gradcheck(training, inputs), "") << shape;
      EXPECT_EQ(autograd::gradgradcheck(training, inputs, testing::twice()), "") << shape;
      const Tensor mean = randn({shape[1]}, {.dtype = DType::f64}),
                   var = rand({shape[1]}, {.dtype = DType::f64});
      const auto eval = [&](const std::vector<Tensor>& in) {
        return std::vector<Tensor>{
            batch_norm_eval(formatted(in[0], format), mean, var, in[1], in[2], 0.1)};
      };
      EXPECT_EQ(autograd::gradcheck(eval, inputs), "") << shape;
      EXPECT_EQ(autograd::gradgradcheck(eval, inputs, testing::twice()), "") << shape;
    }
  }
}

// A sum of squares minus the square of the sum would have no right digit here.
TEST(BatchNorm, IsExactFarFromZero) {
  for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
    const Tensor noise = randn({16, 4, 16, 16}, {.dtype = DType::f64});
    const Tensor x = (noise + 1e4).to(DType::f32).contiguous(format);
    const auto [y, statistics] = batch_norm(x, {}, {}, kEps);
    const Expected expected(x, std::vector<double>(4, 1), std::vector<double>(4, 0));
    EXPECT_TRUE(near(statistics.var.to_doubles(), expected.var, 1e-6));
    // f32 holds a mean of 1e4 to 5e-4: all of y is off by that, nothing by more.
    EXPECT_TRUE(near(y.to_doubles(), expected.y, 3e-4));

    const Tensor far = (noise + 1e6).contiguous(format);
    EXPECT_TRUE(near(batch_norm(far, {}, {}, kEps).statistics.var.to_doubles(),
                     Expected(far, std::vector<double>(4, 1), std::vector<double>(4, 0)).var,
                     1e-9));
  }
}

TEST(BatchNorm, RunsOfThreadsGiveTheSameBits) {
  const Tensor x = randn({32, 16, 8, 8}).contiguous(MemoryFormat::channels_last);
  const auto run = [&] { return batch_norm(x, {}, {}, kEps).y.to_doubles(); };
  const ContextScope scope([](Context& c) { c.threads = 3; });
  const std::vector<double> first = run();
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(run(), first);
}

TEST(BatchNorm, ReluLetsNaNThroughAndStopsAtZero) {
  const Tensor x = tensor({0.0, std::nan(""), -1.0, 2.0}).reshape({4, 1}).requires_grad_();
  const Tensor zero = zeros({1}, {.dtype = DType::f64}), one = ones({1}, {.dtype = DType::f64});
  const Tensor y = batch_norm_eval(x, zero, one, {}, {}, 0, NormActivation::relu);
  const std::vector<double> values = y.to_doubles();
  EXPECT_EQ(values[0], 0);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[2], 0);
  EXPECT_EQ(values[3], 2);
  EXPECT_THAT(autograd::grad({y.sum()}, {x})[0].to_doubles(), ::testing::ElementsAre(0, 1, 0, 1));
}

TEST(BatchNorm, AnEmptyBatchIsNothing) {
  const Tensor x = leaf({0, 3, 4, 4}), w = leaf({3}), b = leaf({3});
  const auto [y, statistics] = batch_norm(x, w, b, kEps);
  EXPECT_EQ(y.shape(), x.shape());
  EXPECT_EQ(statistics.count, 0);
  const auto g = autograd::grad({y.sum()}, {x, w, b});
  EXPECT_EQ(g[0].shape(), x.shape());
  EXPECT_THAT(g[1].to_doubles(), Each(0.0));
  EXPECT_THAT(g[2].to_doubles(), Each(0.0));
}

TEST(BatchNorm, TakesStridedInputs) {
  const Tensor wide = leaf({3, 4, 8, 6}), w = leaf({8}), b = leaf({4});
  const Tensor x = wide.slice(2, {.step = 2}).transpose(2, 3), weight = w.slice(0, {.step = 2});
  const Tensor y = batch_norm(x, weight, b, kEps).y;
  EXPECT_TRUE(near(
      y,
      batch_norm(x.detach().clone().contiguous(), weight.detach().contiguous(), b.detach(), kEps).y,
      1e-14));
  EXPECT_EQ(autograd::grad({y.sum()}, {wide})[0].shape(), wide.shape());
}

TEST(BatchNorm, ErrorsNameBothShapes) {
  const Tensor x = randn({2, 3, 4, 5}), w = randn({3});
  const auto text = [](auto f) { return thrown_text(f); };
  EXPECT_THAT(text([&] { batch_norm(x, randn({4}), {}, kEps); }),
              AllOf(HasSubstr("weight"), HasSubstr("(4)"), HasSubstr("(2, 3, 4, 5)")));
  EXPECT_THAT(text([&] { batch_norm(x, w, randn({3}, {.dtype = DType::f64}), kEps); }),
              AllOf(HasSubstr("bias"), HasSubstr("f64")));
  EXPECT_THAT(text([&] {
                batch_norm(randn({1, 3}), w, {}, kEps);
              }),
              AllOf(HasSubstr("(1, 3)"), HasSubstr("raise the batch size")));
  EXPECT_THAT(text([&] { batch_norm(randn({3}), w, {}, kEps); }), HasSubstr("(N, C)"));
  EXPECT_THAT(text([&] { batch_norm_eval(x, w, {}, {}, {}, kEps); }), HasSubstr("running_var"));
}

}  // namespace
}  // namespace tandem
