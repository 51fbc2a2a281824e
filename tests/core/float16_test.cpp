// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/core/float16.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace tandem {
namespace {

/// What the standard says that `bits` mean: sign, exponent, fraction.
double value_of(std::uint16_t bits, int fraction_bits, int exponent_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const int exponent = (bits & 0x7fff) >> fraction_bits;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  const double significand = std::ldexp(fraction, -fraction_bits) + (exponent != 0 ? 1 : 0);
  return sign * std::ldexp(significand, (exponent != 0 ? exponent : 1) - bias);
}

template <class T>
constexpr int kFraction = 7;
template <>
constexpr int kFraction<Half> = 10;

template <class T>
double exact(std::uint16_t bits) {
  return value_of(bits, kFraction<T>, 15 - kFraction<T>);
}

template <class T>
class Float16Test : public ::testing::Test {};
using Types = ::testing::Types<BFloat16, Half>;
TYPED_TEST_SUITE(Float16Test, Types);

TYPED_TEST(Float16Test, EveryPatternWidensToItsValueAndBack) {
  for (int i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float x = TypeParam::from_bits(bits);
    const double wanted = exact<TypeParam>(bits);
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(x)) << bits;
      EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(x)))) << bits;
    } else {
      EXPECT_EQ(x, wanted) << bits;
      EXPECT_EQ(TypeParam(x).bits, bits);
    }
  }
}

TYPED_TEST(Float16Test, MiddlesRoundToEvenAndTheirNeighboursToTheNearest) {
  const int largest = exact<TypeParam>(0x7c00) == INFINITY ? 0x7bff : 0x7f7f;
  for (int i = 0; i < largest; ++i) {
    const auto low = static_cast<std::uint16_t>(i), high = static_cast<std::uint16_t>(i + 1);
    const double middle = (exact<TypeParam>(low) + exact<TypeParam>(high)) / 2;
    const auto tie = static_cast<float>(middle);
    ASSERT_EQ(tie, middle);
    EXPECT_EQ(TypeParam(tie).bits, i % 2 == 0 ? low : high) << i;
    EXPECT_EQ(TypeParam(std::nextafter(tie, 0.0F)).bits, low) << i;
    EXPECT_EQ(TypeParam(std::nextafter(tie, INFINITY)).bits, high) << i;
    EXPECT_EQ(TypeParam(-tie).bits, 0x8000 | (i % 2 == 0 ? low : high)) << i;
  }
}

TYPED_TEST(Float16Test, WhatIsTooLargeBecomesInfinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(static_cast<float>(TypeParam(infinity)), infinity);
  EXPECT_EQ(static_cast<float>(TypeParam(-std::numeric_limits<float>::max())), -infinity);
}

TEST(HalfTest, TheLargestNumberIs65504) {
  EXPECT_EQ(static_cast<float>(Half(65519.0F)), 65504.0F);
  EXPECT_EQ(static_cast<float>(Half(65520.0F)), std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace tandem
