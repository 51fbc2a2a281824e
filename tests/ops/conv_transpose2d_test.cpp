// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/conv_transpose2d.hpp"

#include <cstdint>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/autograd/gradcheck.hpp"
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
using testing::tolerance_of_sums;
using ::testing::Values;

class ConvTranspose2dTest
    : public ::testing::TestWithParam<std::tuple<DType, MemoryFormat, KernelPath>> {};

TEST_P(ConvTranspose2dTest, FollowsTheDefinition) {
  const auto [dtype, format, path] = GetParam();
  const ContextScope scope([path = path](Context& c) { c.path = path; });
  constexpr std::int64_t groups = 2, c = 4, og = 3;
  const ConvTranspose2dOptions options{.stride = {3, 2},
                                       .padding = {1, 0},
                                       .output_padding = {2, 1},
                                       .dilation = {1, 2},
                                       .groups = groups};
  const Tensor x = randn({2, c, 3, 4}, {.dtype = dtype}).contiguous(format),
               w = randn({c, og, 3, 2}, {.dtype = dtype}),
               b = randn({og * groups}, {.dtype = dtype});
  const Tensor y = conv_transpose2d(x, w, b, options);
  const Shape shape{2, og * groups, 2 * 3 - 2 + 2 + 2 + 1, 3 * 2 + 2 + 1 + 1};
  ASSERT_EQ(y.shape(), shape);
  EXPECT_TRUE(y.is_contiguous(format)) << "the result keeps x's memory format";

  const auto vx = x.to_doubles(), vw = w.to_doubles(), vb = b.to_doubles();
  std::vector<double> wanted(static_cast<std::size_t>(numel(shape)));
  const std::int64_t plane = shape[2] * shape[3];
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = vb[i / static_cast<std::size_t>(plane) % vb.size()];
  for (std::int64_t i = 0; i < x.numel(); ++i) {  // each element of x spreads the kernel
    const std::int64_t column = i % 4, row = i / 4 % 3, channel = i / 12 % c, image = i / 12 / c;
    for (std::int64_t j = 0; j < og * 6; ++j) {
      const std::int64_t iy = row * 3 - 1 + j / 2 % 3, ix = column * 2 + j % 2 * 2;
      if (iy < 0 || iy >= shape[2] || ix < 0 || ix >= shape[3]) continue;
      const std::int64_t o = channel / (c / groups) * og + j / 6;
      wanted[static_cast<std::size_t>(((image * og * groups + o) * shape[2] + iy) * shape[3] +
                                      ix)] +=
          vx[static_cast<std::size_t>(i)] * vw[static_cast<std::size_t>(channel * og * 6 + j)];
    }
  }
  EXPECT_TRUE(near(y.to_doubles(), wanted, tolerance_of_sums(dtype)));
}

INSTANTIATE_TEST_SUITE_P(Paths,
                         ConvTranspose2dTest,
                         Combine(Values(DType::f32, DType::f64),
                                 Values(MemoryFormat::contiguous, MemoryFormat::channels_last),
                                 Values(KernelPath::native, KernelPath::fastest)));

// Rows that the padding cut off come back, and behind them there is nothing but the bias.
TEST(ConvTranspose2d, OutputPaddingMayReachTheDilation) {
  const Tensor x = leaf({2, 3, 3, 4}), w = leaf({3, 2, 2, 2}), b = leaf({2});
  const ConvTranspose2dOptions wide{.stride = {1, 2}, .dilation = {3, 4}};
  const Tensor whole = conv_transpose2d(x, w, b, wide);
  ConvTranspose2dOptions options = wide;
  options.padding = {1, 2};
  options.output_padding = {2, 3};
  const Tensor y = conv_transpose2d(x, w, b, options);
  ASSERT_EQ(y.shape(), (Shape{2, 2, 6, 11 + 3 - 4}));
  const Tensor beyond = b.detach().reshape({1, 2, 1, 1}).expand({2, 2, 1, 10});
  EXPECT_TRUE(near(y.narrow(2, 5, 1), beyond, 1e-14));
  EXPECT_TRUE(
      near(y.narrow(2, 0, 5).narrow(3, 0, 9), whole.narrow(2, 1, 5).narrow(3, 2, 9), 1e-13));
  const auto f = [&](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{conv_transpose2d(in[0], in[1], in[2], options)};
  };
  EXPECT_EQ(autograd::gradcheck(f, {x, w, b}), "");
  const Tensor last = conv_transpose2d(x.contiguous(MemoryFormat::channels_last), w, b, options);
  EXPECT_TRUE(near(last, y, 1e-13));
  EXPECT_TRUE(last.is_contiguous(MemoryFormat::channels_last));
}

TEST(ConvTranspose2d, GradientsAgreeWithDifferencesTwice) {
  const auto two = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{conv_transpose2d(
        in[0],
        in[1],
        in[2],
        {.stride = {2, 1}, .padding = {1, 0}, .output_padding = {1, 0}, .groups = 2})};
  };
  const std::vector<Tensor> images{leaf({2, 4, 2, 3}), leaf({4, 1, 3, 2}), leaf({2})};
  EXPECT_EQ(autograd::gradcheck(two, images), "");
  EXPECT_EQ(autograd::gradgradcheck(two, images, testing::twice()), "");
  expect_fused_is_formula([&](const std::vector<Tensor>& in) { return two(in)[0]; }, images, 1e-13);
}

TEST(ConvTranspose2d, ErrorsNameTheShapesAndTheRemedy) {
  const Tensor image = randn({2, 4, 3, 3});
  EXPECT_THAT(
      thrown_text([&] {
        conv_transpose2d(image, randn({3, 4, 2, 2}));
      }),
      AllOf(HasSubstr("(2, 4, 3, 3)"), HasSubstr("(3, 4, 2, 2)"), HasSubstr("C, O / groups")));
  EXPECT_THAT(thrown_text([&] {
                conv_transpose2d(
                    image, randn({4, 2, 2, 2}), {}, {.stride = {2, 2}, .output_padding = {2, 0}});
              }),
              HasSubstr("output_padding 2 must be less than the stride 2 or the dilation 1"));
  EXPECT_THAT(thrown_text([&] {
                conv_transpose2d(image, randn({4, 2, 2, 2}), {}, {.padding = {2, 2}});
              }),
              AllOf(HasSubstr("leaves 0 rows"), HasSubstr("pad less")));
  EXPECT_THAT(thrown_text([&] {
                conv_transpose2d(image, randn({4, 2, 2, 2}), randn({2}), {.groups = 2});
              }),
              AllOf(HasSubstr("bias f32 (2)"), HasSubstr("expected (4)")));
}

}  // namespace
}  // namespace tandem
