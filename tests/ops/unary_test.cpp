// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/unary.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

/// f32 goes by polynomials, f64 by the standard library.
TEST(UnaryTest, ErfOfSinglePrecisionIsThatOfTheStandardLibrary) {
  const Tensor x = arange(-12, 12, 1.0 / 512, {.dtype = DType::f32});
  const std::vector<double> fast = erf(x).to_doubles(), exact = erf(x.to(DType::f64)).to_doubles();
  for (std::size_t i = 0; i < fast.size(); ++i)
    ASSERT_NEAR(fast[i], exact[i], 5e-7 * std::abs(exact[i]) + 1e-37) << "at " << i;
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor far = tensor({-inf, -100.0, 100.0, inf}).to(DType::f32);
  EXPECT_THAT(erf(far).to_doubles(), ElementsAre(-1, -1, 1, 1));
  EXPECT_TRUE(std::isnan(erf(tensor({std::nan("")}).to(DType::f32)).item()));
}

TEST(UnaryTest, BoolHasNoNegative) {
  const Tensor x = ones({2}, {.dtype = DType::boolean});
  EXPECT_THAT(thrown_text([&] { -x; }), HasSubstr("bool"));
}

TEST(UnaryTest, IntegersStayOrBecomeF32) {
  const Tensor x = tensor<std::int32_t>({-3, 0, 4});
  EXPECT_EQ(exp(x).dtype(), DType::f32);
  EXPECT_EQ(square(x).dtype(), DType::i32);
  EXPECT_THAT(abs(x).to_doubles(), ElementsAre(3, 0, 4));
  EXPECT_THAT(sign(x).to_doubles(), ElementsAre(-1, 0, 1));
  EXPECT_THAT((-x).to_doubles(), ElementsAre(3, 0, -4));
}

}  // namespace
}  // namespace tandem
