// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/conv.hpp"

#include <array>
#include <cstdint>
#include <ostream>
#include <thread>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/autograd/gradcheck.hpp"
#include "tandem/config.hpp"
#include "tandem/core/error.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"

#include "devices.hpp"
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

struct Case {
  Shape x, weight;
  Conv2dOptions options;

  Shape out() const {
    const auto size = [&](int axis) {
      const auto a = static_cast<std::size_t>(axis);
      return (x[2 + axis] + 2 * options.padding[a] - options.dilation[a] * (weight[2 + axis] - 1) -
              1) /
                 options.stride[a] +
             1;
    };
    return {x[0], weight[0], size(0), size(1)};
  }
};

std::ostream& operator<<(std::ostream& s, const Case& c) {
  return s << c.x << " * " << c.weight << " groups " << c.options.groups;
}

const Case kPlain{{2, 3, 6, 5}, {4, 3, 3, 3}, {.padding = {1, 1}}};
const Case kUneven{{3, 4, 7, 9}, {6, 4, 3, 2}, {.stride = {2, 1}, .padding = {0, 1}}};
const Case kGrouped{{2, 4, 8, 8},
                    {6, 2, 3, 3},
                    {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}, .groups = 2}};
const Case kPointwise{{5, 3, 6, 5}, {4, 3, 1, 1}, {}};
const Case kDepthwise{{2, 6, 5, 5}, {6, 1, 3, 3}, {.padding = {1, 1}, .groups = 6}};
const Case kOneChannel{{2, 1, 9, 9}, {1, 1, 3, 3}, {.stride = {3, 2}, .padding = {0, 1}}};
const Case kDilated{
    {1, 16, 12, 12}, {32, 16, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}, .dilation = {2, 2}}};
// Output channels that are whole vectors, in odd numbers too: channels-last goes without im2col.
// The rows of an image come in chunks of unequal length; threads cut it in between.
const Case kDirect{{3, 3, 13, 11}, {48, 3, 5, 3}, {.padding = {2, 1}}};
const Case kDirectStrided{
    {3, 5, 17, 12}, {16, 5, 3, 4}, {.stride = {2, 3}, .padding = {1, 3}, .dilation = {1, 2}}};

// Channels that are whole cache lines lie in blocks; where the window is one pixel, those that the
// stride leaves out are not copied; small images are summed together, wide rows in parts, and many
// pixels in segments.
const Case kBlocks{
    {2, 32, 9, 10}, {24, 32, 3, 3}, {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}}};
const Case kPointwiseStrided{{3, 16, 9, 8}, {16, 16, 1, 1}, {.stride = {2, 3}, .padding = {0, 1}}};
const Case kSmallImages{{9, 4, 5, 6}, {16, 4, 3, 3}, {.padding = {1, 1}}};
const Case kWideRows{{1, 2, 2, 300}, {16, 2, 1, 3}, {.padding = {0, 2}}};
const Case kSegments{{5, 3, 24, 20}, {16, 3, 3, 2}, {.padding = {1, 1}}};

/// Calls f(index of y, of x, of weight) for each product of the convolution: the definition, as a
/// serial loop.
template <class F>
void for_products(const Case& c, F f) {
  const Shape out = c.out();
  const std::int64_t og = out[1] / c.options.groups, cg = c.weight[1];
  for (std::int64_t y = 0; y < numel(out); ++y) {
    const std::int64_t column = y % out[3], row = y / out[3] % out[2],
                       o = y / (out[2] * out[3]) % out[1], n = y / (out[1] * out[2] * out[3]);
    for (std::int64_t k = 0; k < cg * c.weight[2] * c.weight[3]; ++k) {
      const std::int64_t j = k % c.weight[3], i = k / c.weight[3] % c.weight[2],
                         channel = o / og * cg + k / (c.weight[2] * c.weight[3]);
      const std::int64_t iy =
          row * c.options.stride[0] - c.options.padding[0] + i * c.options.dilation[0];
      const std::int64_t ix =
          column * c.options.stride[1] - c.options.padding[1] + j * c.options.dilation[1];
      if (iy < 0 || iy >= c.x[2] || ix < 0 || ix >= c.x[3]) continue;
      f(y,
        ((n * c.x[1] + channel) * c.x[2] + iy) * c.x[3] + ix,
        o * cg * c.weight[2] * c.weight[3] + k);
    }
  }
}

double tolerance(DType t) {
  return t == DType::f64 ? 1e-13 : 1e-5;
}

class Conv2dTest
    : public ::testing::TestWithParam<std::tuple<Case, DType, MemoryFormat, KernelPath, int>> {};

TEST_P(Conv2dTest, FollowsTheDefinition) {
  const auto& [c, dtype, format, path, threads] = GetParam();
  const ContextScope scope([path = path, threads = threads](Context& context) {
    context.path = path;
    context.threads = threads;
  });
  const Tensor x = randn(c.x, {.dtype = dtype}).contiguous(format).requires_grad_();
  const Tensor w = leaf(c.weight, dtype), b = leaf({c.weight[0]}, dtype);
  const Tensor y = conv2d(x, w, b, c.options);
  const Tensor dy = randn(c.out(), {.dtype = dtype});
  const auto gradients = autograd::grad({y}, {x, w, b}, {dy});

  const auto vx = x.to_doubles(), vw = w.to_doubles(), vb = b.to_doubles(), vdy = dy.to_doubles();
  std::vector<double> wanted(vdy.size()), dx(vx.size()), dw(vw.size()), db(vb.size());
  const std::size_t plane = vdy.size() / static_cast<std::size_t>(c.out()[0] * c.out()[1]);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] = vb[i / plane % vb.size()];
    db[i / plane % vb.size()] += vdy[i];
  }
  for_products(c, [&](std::size_t i, std::size_t j, std::size_t k) {
    wanted[i] += vx[j] * vw[k];
    dx[j] += vdy[i] * vw[k];
    dw[k] += vdy[i] * vx[j];
  });
  EXPECT_TRUE(near(y.to_doubles(), wanted, tolerance(dtype)));
  EXPECT_TRUE(near(gradients[0].to_doubles(), dx, tolerance(dtype)));
  EXPECT_TRUE(near(gradients[1].to_doubles(), dw, tolerance(dtype)));
  EXPECT_TRUE(near(gradients[2].to_doubles(), db, tolerance(dtype)));
  EXPECT_TRUE(y.is_contiguous(format)) << "the result keeps x's memory format";
}

INSTANTIATE_TEST_SUITE_P(Cases,
                         Conv2dTest,
                         Combine(Values(kPlain,
                                        kUneven,
                                        kGrouped,
                                        kPointwise,
                                        kDepthwise,
                                        kOneChannel,
                                        kDilated,
                                        kDirect,
                                        kDirectStrided,
                                        kBlocks,
                                        kPointwiseStrided,
                                        kSmallImages,
                                        kWideRows,
                                        kSegments),
                                 Values(DType::f32, DType::f64),
                                 Values(MemoryFormat::contiguous, MemoryFormat::channels_last),
                                 Values(KernelPath::native, KernelPath::fastest),
                                 Values(1, 2)));

TEST(Conv2d, OneDnnIsTheNativePathWithinRounding) {
  if (!has_onednn) GTEST_SKIP() << "built without oneDNN";
  if (testing::on_gpus()) GTEST_SKIP() << "oneDNN runs on the host alone";
  const Shape shape{8, 32, 16, 16};
  const Tensor x = randn(shape).contiguous(MemoryFormat::channels_last).requires_grad_();
  const Tensor w = leaf({64, 32, 3, 3}, DType::f32), b = leaf({64}, DType::f32);
  const auto run = [&](KernelPath path) {
    const ContextScope scope([path](Context& c) { c.path = path; });
    const Tensor y = conv2d(x, w, b, {.padding = {1, 1}});
    auto results = autograd::grad({y}, {x, w, b}, {y.detach()});
    results.push_back(y.detach());
    return results;
  };
  const auto native = run(KernelPath::native), fastest = run(KernelPath::fastest);
  for (std::size_t i = 0; i < native.size(); ++i)
    EXPECT_TRUE(near(fastest[i], native[i], 1e-5)) << i;
  EXPECT_NE(fastest[0].to_doubles(), native[0].to_doubles())
      << "sums of 576 products with the same bits: did the library run at all?";
}

class CudnnTest : public ::testing::TestWithParam<std::tuple<Case, DType, MemoryFormat>> {};

TEST_P(CudnnTest, IsTheNativePathWithinRounding) {
  if (!has_cudnn) GTEST_SKIP() << "built without cuDNN";
  if (!testing::on_gpus()) GTEST_SKIP() << "cuDNN runs on GPUs alone";
  const auto& [c, dtype, format] = GetParam();
  const Tensor x = randn(c.x, {.dtype = dtype}).contiguous(format).requires_grad_();
  const Tensor w = leaf(c.weight, dtype), b = leaf({c.weight[0]}, dtype);
  const auto run = [&, options = c.options](KernelPath path) {
    const ContextScope scope([path](Context& context) { context.path = path; });
    const Tensor y = conv2d(x, w, b, options);
    auto results = autograd::grad({y}, {x, w, b}, {y.detach()});
    results.push_back(y.detach());
    return results;
  };
  const auto native = run(KernelPath::native), fastest = run(KernelPath::fastest),
             again = run(KernelPath::fastest);
  for (std::size_t i = 0; i < native.size(); ++i) {
    EXPECT_TRUE(near(fastest[i], native[i], tolerance(dtype))) << i;
    EXPECT_EQ(fastest[i].to_doubles(), again[i].to_doubles()) << "the same bits in every run";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases,
    CudnnTest,
    Combine(Values(Case{{8, 32, 16, 16}, {64, 32, 3, 3}, {.padding = {1, 1}}},
                   Case{{4, 64, 14, 14}, {64, 64, 1, 1}, {.stride = {2, 2}}},
                   Case{{2, 3, 64, 48}, {16, 3, 7, 7}, {.stride = {2, 2}, .padding = {3, 3}}},
                   kGrouped,
                   kDepthwise,
                   kDilated,
                   kUneven),
            Values(DType::f32, DType::f64),
            Values(MemoryFormat::contiguous, MemoryFormat::channels_last)));

class Conv2dGradientTest : public ::testing::TestWithParam<std::tuple<Case, MemoryFormat>> {};

TEST_P(Conv2dGradientTest, AgreesWithDifferencesTwice) {
  const auto& [c, format] = GetParam();
  const auto f = [c = c, format = format](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{conv2d(in[0].contiguous(format), in[1], in[2], c.options)};
  };
  const std::vector<Tensor> inputs{leaf(c.x), leaf(c.weight), leaf({c.weight[0]})};
  EXPECT_EQ(autograd::gradcheck(f, inputs), "");
  EXPECT_EQ(autograd::gradgradcheck(f, inputs, testing::twice()), "");
}

TEST_P(Conv2dGradientTest, FusedIsFormula) {
  const auto& [c, format] = GetParam();
  const auto f = [c = c, format = format](const std::vector<Tensor>& in) {
    return conv2d(in[0].contiguous(format), in[1], in[2], c.options);
  };
  expect_fused_is_formula(f, {leaf(c.x), leaf(c.weight), leaf({c.weight[0]})}, 1e-13);
  expect_fused_is_formula(
      f,
      {leaf(c.x, DType::f32), leaf(c.weight, DType::f32), leaf({c.weight[0]}, DType::f32)},
      1e-5);
}

const Case kSmallGrouped{{2, 4, 4, 5},
                         {2, 2, 2, 3},
                         {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2}};
const Case kLeftOver{
    {1, 2, 6, 4}, {2, 2, 3, 1}, {.stride = {2, 3}}};  // rows and columns that no window reaches

INSTANTIATE_TEST_SUITE_P(Cases,
                         Conv2dGradientTest,
                         Combine(Values(kSmallGrouped, kLeftOver),
                                 Values(MemoryFormat::contiguous, MemoryFormat::channels_last)));

TEST(Conv2d, TheGradientOpsAreDifferentiableThemselves) {
  const Case c = kSmallGrouped;
  const auto dx = [&](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{conv2d_input_grad(in[0], in[1], c.x, c.options)};
  };
  const auto dw = [&](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{conv2d_weight_grad(in[0], in[1], c.weight, c.options)};
  };
  EXPECT_EQ(autograd::gradcheck(dx, {leaf(c.out()), leaf(c.weight)}), "");
  EXPECT_EQ(autograd::gradcheck(dw, {leaf(c.out()), leaf(c.x)}), "");
  EXPECT_EQ(autograd::gradgradcheck(dx, {leaf(c.out()), leaf(c.weight)}, testing::twice()), "");
  EXPECT_EQ(autograd::gradgradcheck(dw, {leaf(c.out()), leaf(c.x)}, testing::twice()), "");
}

TEST(Conv2d, TakesStridedInputs) {
  const Tensor wide = leaf({2, 3, 6, 10}), w = leaf({5, 4, 3, 3});
  const Tensor x = wide.slice(3, {.step = 2});
  const Tensor weight = w.transpose(0, 1).narrow(1, 1, 3);  // (4, 3, 3, 3)
  const Conv2dOptions options{.padding = {1, 1}};
  const Tensor y = conv2d(x, weight, {}, options);
  EXPECT_TRUE(near(
      y, conv2d(x.detach().clone().contiguous(), weight.detach().contiguous(), {}, options), 0));
  EXPECT_EQ(autograd::grad({y.sum()}, {wide})[0].shape(), wide.shape());
}

TEST(Conv2d, AnEmptyBatchHasZeroGradients) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = leaf({0, 3, 6, 5}, dtype), w = leaf({4, 3, 3, 3}, dtype), b = leaf({4}, dtype);
    const Tensor y = conv2d(x, w, b);
    EXPECT_EQ(y.shape(), (Shape{0, 4, 4, 3}));
    const auto g = autograd::grad({y.sum()}, {x, w, b});
    EXPECT_EQ(g[0].shape(), x.shape());
    EXPECT_THAT(g[1].to_doubles(), ::testing::Each(0.0));
    EXPECT_THAT(g[2].to_doubles(), ::testing::Each(0.0));
  }
}

TEST(Conv2d, ErrorsNameBothShapes) {
  const Tensor x = randn({2, 3, 6, 5}), w = randn({4, 2, 3, 3});
  const auto text =
      [&](const Tensor& in, const Tensor& weight, const Tensor& bias, Conv2dOptions options) {
        return thrown_text([&] { conv2d(in, weight, bias, options); });
      };
  EXPECT_THAT(
      text(x, w, {}, {}),
      AllOf(
          HasSubstr("(2, 3, 6, 5)"), HasSubstr("(4, 2, 3, 3)"), HasSubstr("3 channels per group")));
  EXPECT_THAT(text(x.select(0, 0), w, {}, {}),
              AllOf(HasSubstr("(3, 6, 5)"), HasSubstr("N, C, H, W")));
  const Tensor fits = randn({4, 3, 7, 3});
  EXPECT_THAT(text(x, fits, {}, {}),
              AllOf(HasSubstr("spans 7 rows, but x (2, 3, 6, 5) has only 6 with its padding"),
                    HasSubstr("pad more")));
  EXPECT_THAT(text(x, fits, {}, {.groups = 2}), HasSubstr("multiples of groups 2"));
  EXPECT_THAT(text(x, fits, randn({3}), {.padding = {1, 0}}),
              AllOf(HasSubstr("bias (3)"), HasSubstr("expected (4)")));
  EXPECT_THAT(text(x, fits.to(DType::f64), {}, {}), AllOf(HasSubstr("f32"), HasSubstr("f64")));
  EXPECT_THAT(text(x, fits, {}, {.stride = {0, 1}}), HasSubstr("stride >= 1"));
  EXPECT_THAT(thrown_text([&] {
                conv2d_input_grad(randn({2, 4, 1, 1}), randn({4, 3, 3, 3}), x.shape());
              }),
              AllOf(HasSubstr("(2, 4, 1, 1)"), HasSubstr("(2, 4, 4, 3)")));
}

TEST(Conv2d, WorkspaceIsTheDevicesAndGoesAgain) {
  const Device device = testing::device(7);
  LogicalDevice& logical = logical_device(device);
  for (const KernelPath path : {KernelPath::native, KernelPath::fastest}) {
    const ContextScope scope([path](Context& c) { c.path = path; });
    const Tensor x =
        randn({4, 16, 12, 12}, {.device = device}).contiguous(MemoryFormat::channels_last);
    const Tensor w = randn({32, 16, 3, 3}, {.device = device});
    const std::size_t before = logical.memory_stats().in_use;
    const std::size_t result = 4 * 32 * 10 * 10 * sizeof(float);
    logical.reset_peak();
    conv2d(x, w);
    const MemoryStats stats = logical.memory_stats();
    EXPECT_EQ(stats.in_use, before);
    EXPECT_GT(stats.peak_by_category[static_cast<std::size_t>(Category::workspace)], 0u);
    logical.set_limit(before + result);  // the result alone fits
    EXPECT_THROW(conv2d(x, w), OutOfMemory);
    EXPECT_EQ(logical.memory_stats().in_use, before);
    logical.set_limit(stats.peak);
    EXPECT_NO_THROW(conv2d(x, w));
    logical.set_limit(SIZE_MAX);
  }
}

TEST(Conv2d, TwoThreadsMayUseOneDevice) {
  const Tensor w = randn({8, 4, 3, 3});
  const auto work = [&](int seed, std::vector<double>& result) {
    const ContextScope scope([](Context& c) { c.threads = 1; });
    for (int i = 0; i < 50; ++i) {
      const Tensor x =
          full({1 + i % 3, 4, 8, 8}, seed + 1, {.format = MemoryFormat::channels_last});
      result = conv2d(x, w).to_doubles();
    }
  };
  std::array<std::vector<double>, 2> alone, together;
  for (int i : {0, 1})
    work(i, alone[static_cast<std::size_t>(i)]);
  std::thread first([&] { work(0, together[0]); }), second([&] { work(1, together[1]); });
  first.join();
  second.join();
  EXPECT_EQ(together, alone);
}

TEST(Conv2d, LittleWorkHasTheSameBitsOnAnyNumberOfThreads) {
  const Tensor x = randn({8, 16, 4, 4}).contiguous(MemoryFormat::channels_last);
  Tensor weight = randn({32, 16, 3, 3}).requires_grad_(), bias = randn({32}).requires_grad_();
  const auto gradients = [&](int threads) {
    const ContextScope scope([&](Context& c) { c.threads = threads; });
    weight.set_grad({});
    bias.set_grad({});
    sum(square(conv2d(x, weight, bias, {.padding = {1, 1}}))).backward();
    return std::pair(weight.grad().to_doubles(), bias.grad().to_doubles());
  };
  EXPECT_EQ(gradients(4), gradients(1));
}

}  // namespace
}  // namespace tandem
