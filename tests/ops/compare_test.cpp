// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/compare.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "tandem/ops/unary.hpp"
#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

TEST(CompareTest, WrongShapesNameBoth) {
  const Tensor a = ones({2, 3}), b = ones({4});
  EXPECT_THAT(thrown_text([&] { lt(a, b); }),
              AllOf(HasSubstr("lt"), HasSubstr("(2, 3)"), HasSubstr("(4)")));
  EXPECT_THAT(thrown_text([&] { where(gt(b, 0.0), a, a); }),
              AllOf(HasSubstr("(2, 3)"), HasSubstr("(4)")));
}

TEST(CompareTest, ANumberMeetsAnIntegerTensor) {
  const Tensor i = tensor<std::int32_t>({3, 4});
  EXPECT_EQ(gt(i, 3.5).dtype(), DType::boolean);
  EXPECT_THAT(gt(i, 3.5).to_doubles(), ElementsAre(0, 1));
}

TEST(CompareTest, OnlyNumbersAreFinite) {
  EXPECT_THAT(isfinite(tensor({std::nan(""), HUGE_VAL, -HUGE_VAL, 1.0})).to_doubles(),
              ElementsAre(0, 0, 0, 1));
}

TEST(CompareTest, ANumberIsNoCondition) {
  const Tensor x = ones({2}, {.dtype = DType::boolean});
  EXPECT_THAT(thrown_text([&] { where(ones({2}), x, x); }), HasSubstr("bool"));
}

TEST(CompareTest, WhereTakesBothBranches) {
  const Tensor x = tensor({1.0, -2.0, 3.0});
  EXPECT_THAT(where(gt(x, 0.0), x, 0.0).to_doubles(), ElementsAre(1, 0, 3));
  EXPECT_THAT(where(gt(x, 5.0), x, -x).to_doubles(), ElementsAre(-1, 2, -3));
  EXPECT_THAT(where(scalar(1, {.dtype = DType::boolean}), x, 9.0).to_doubles(),
              ElementsAre(1, -2, 3));
}

}  // namespace
}  // namespace tandem
