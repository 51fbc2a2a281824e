// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Shapes whose elements or bytes no 63 bits count: refused, never taken for small ones.

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;

constexpr std::int64_t power(int exponent) {
  return std::int64_t{1} << exponent;
}

TEST(HugeShapeTest, FactoriesRefuseIt) {
  EXPECT_THAT(thrown_text([] {
                zeros({power(62) + 1, 4});
              }),
              AllOf(HasSubstr("(4611686018427387905, 4)"), HasSubstr("give smaller sizes")));
  EXPECT_THROW(empty({power(60), 8}), InvalidArgument);
  EXPECT_THROW(randn({power(58), 16}), InvalidArgument);
  EXPECT_THROW(zeros({power(61)}, {.dtype = DType::f64}), InvalidArgument);
  EXPECT_THROW(zeros({power(61)}), InvalidArgument);
  EXPECT_THROW(empty({1, 4, power(31), power(31)}, {.format = MemoryFormat::channels_last}),
               InvalidArgument);
  EXPECT_THROW(from_host<float>({}, {power(62), 4}), InvalidArgument);
}

TEST(HugeShapeTest, ArangeRefusesIt) {
  EXPECT_THAT(thrown_text([] { arange(0, 1e19); }), HasSubstr("has 1e+19 numbers"));
  EXPECT_THROW(arange(0, 1, 1e-300), InvalidArgument);
  EXPECT_THROW(arange(0, std::nan("")), InvalidArgument);
  EXPECT_THROW(arange(0, HUGE_VAL), InvalidArgument);
  EXPECT_EQ(arange(1, 0).numel(), 0);
}

TEST(HugeShapeTest, ViewsRefuseIt) {
  EXPECT_THROW(zeros({0}).reshape({power(62), 4}), InvalidArgument);
  EXPECT_THROW(zeros({0}).reshape({0, power(62), 4}), InvalidArgument);
  EXPECT_THROW(zeros({4}).reshape({-1, power(62), 4}), InvalidArgument);
  EXPECT_THROW(zeros({1}).expand({power(62)}), InvalidArgument);
  EXPECT_THROW(zeros({1, 1}).expand({power(40), power(40)}), InvalidArgument);
  EXPECT_THROW(zeros({4}).narrow(0, 1, std::numeric_limits<std::int64_t>::max()), InvalidArgument);
}

TEST(HugeShapeTest, AHugeStepOfASliceTakesItsFirstElement) {
  const Tensor x =
      arange(0, 6).reshape({2, 3}).slice(0, {0, 2, std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(x.shape(), (Shape{1, 3}));
  EXPECT_EQ(x.unsqueeze(0).to_doubles(), (std::vector<double>{0, 1, 2}));
}

}  // namespace
}  // namespace tandem
