// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/conv1d.hpp"

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

class Conv1dTest : public ::testing::TestWithParam<std::tuple<DType, KernelPath>> {};

TEST_P(Conv1dTest, FollowsTheDefinition) {
  const auto [dtype, path] = GetParam();
  const ContextScope scope([path = path](Context& c) { c.path = path; });
  constexpr std::int64_t n = 2, c = 4, length = 11, o = 6, k = 3, groups = 2;
  const Conv1dOptions options{.stride = 2, .padding = 1, .dilation = 2, .groups = groups};
  const Tensor x = randn({n, c, length}, {.dtype = dtype}),
               w = randn({o, c / groups, k}, {.dtype = dtype}), b = randn({o}, {.dtype = dtype});
  const Tensor y = conv1d(x, w, b, options);
  constexpr std::int64_t out = (length + 2 - 2 * (k - 1) - 1) / 2 + 1;
  ASSERT_EQ(y.shape(), (Shape{n, o, out}));

  const auto vx = x.to_doubles(), vw = w.to_doubles(), vb = b.to_doubles();
  std::vector<double> wanted(static_cast<std::size_t>(n * o * out));
  for (std::int64_t i = 0; i < n * o * out; ++i) {
    const std::int64_t at = i % out, channel = i / out % o, image = i / out / o;
    double& sum = wanted[static_cast<std::size_t>(i)];
    sum = vb[static_cast<std::size_t>(channel)];
    for (std::int64_t j = 0; j < c / groups * k; ++j) {
      const std::int64_t from = at * 2 - 1 + j % k * 2;
      if (from < 0 || from >= length) continue;
      const std::int64_t source = channel / (o / groups) * (c / groups) + j / k;
      sum += vx[static_cast<std::size_t>((image * c + source) * length + from)] *
             vw[static_cast<std::size_t>(channel * (c / groups) * k + j)];
    }
  }
  EXPECT_TRUE(near(y.to_doubles(), wanted, tolerance_of_sums(dtype)));
}

INSTANTIATE_TEST_SUITE_P(Paths,
                         Conv1dTest,
                         Combine(Values(DType::f32, DType::f64),
                                 Values(KernelPath::native, KernelPath::fastest)));
TEST(Conv1d, GradientsAgreeWithDifferencesTwice) {
  const auto one = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{
        conv1d(in[0], in[1], in[2], {.stride = 2, .padding = 1, .groups = 2})};
  };
  const std::vector<Tensor> lines{leaf({2, 4, 5}), leaf({2, 2, 3}), leaf({2})};
  EXPECT_EQ(autograd::gradcheck(one, lines), "");
  EXPECT_EQ(autograd::gradgradcheck(one, lines, testing::twice()), "");
  expect_fused_is_formula([&](const std::vector<Tensor>& in) { return one(in)[0]; }, lines, 1e-13);
}

TEST(Conv1d, ErrorsNameTheShapesAndTheRemedy) {
  const Tensor line = randn({2, 4, 5});
  EXPECT_THAT(thrown_text([&] {
                conv1d(line, randn({2, 4, 1, 3}));
              }),
              AllOf(HasSubstr("conv1d"), HasSubstr("(N, C, L)"), HasSubstr("(2, 4, 1, 3)")));
  EXPECT_THAT(thrown_text([&] {
                conv1d(line, randn({2, 3, 3}));
              }),
              AllOf(HasSubstr("(2, 4, 5)"), HasSubstr("(2, 3, 3)"), HasSubstr("(O, 4 / groups")));
  EXPECT_THAT(thrown_text([&] {
                conv1d(line, randn({2, 4, 6}));
              }),
              AllOf(HasSubstr("spans 6 columns, but x (2, 4, 5) has only 5 with its padding"),
                    HasSubstr("pad more")));
  EXPECT_THAT(thrown_text([&] {
                conv1d(line, randn({2, 4, 3}), {}, {.stride = 0});
              }),
              HasSubstr("stride, dilation and groups >= 1"));
  EXPECT_THAT(thrown_text([&] {
                conv1d(line, randn({2, 4, 3}), randn({3}));
              }),
              AllOf(HasSubstr("bias"), HasSubstr("expected (2)")));
}

}  // namespace
}  // namespace tandem
