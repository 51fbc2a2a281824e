// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/difference.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "thrown_text.hpp"

namespace tandem::nn {
namespace {

using tandem::testing::thrown_text;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(DifferenceTest, IsTheLargestOfAllTensorsAndNamesIt) {
  const NamedValues b{{"bias", {4}}, {"weight", {1, -2}}};
  EXPECT_EQ(difference(b, b).value, 0);
  EXPECT_EQ(difference(b, b).tensor, "");
  const Difference found = difference({{"bias", {4.1}}, {"weight", {1, -2.2}}}, b);
  EXPECT_NEAR(found.value, 0.1, 1e-15);  // 0.2 / 2, not 0.1 / 4
  EXPECT_EQ(found.tensor, "weight");
  EXPECT_NEAR(difference({{"w", {1.5, 2}}}, {{"w", {1, 2}}}).value, 0.25, 1e-15);
}

TEST(DifferenceTest, TensorsNearZeroCountByTheModelsLargestNumber) {
  const NamedValues b{{"w", {1, -2}}, {"zero", {0}}};
  EXPECT_NEAR(difference({{"w", {1, -2}}, {"zero", {1e-5}}}, b).value, 5e-3, 1e-15);
  EXPECT_EQ(difference({{"zero", {1}}}, {{"zero", {0}}}).value, kInfinity);
  EXPECT_EQ(difference({{"zero", {0}}}, {{"zero", {0}}}).value, 0);
}

TEST(DifferenceTest, NumbersThatAreNotFiniteAreNeverEqual) {
  for (const double bad : {kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(difference({{"w", {1, bad}}}, {{"w", {1, 2}}}).value, kInfinity) << bad;
    EXPECT_EQ(difference({{"w", {1, 2}}}, {{"w", {1, bad}}}).value, kInfinity) << bad;
    EXPECT_EQ(difference({{"w", {bad}}}, {{"w", {bad}}}).tensor, "w") << bad;
  }
}

TEST(DifferenceTest, OtherNamesAndSizesAreRefused) {
  const NamedValues b{{"w", {1, 2}}};
  EXPECT_THAT(thrown_text([&] { difference({}, b); }),
              HasSubstr("one model has 0 tensors, and the other has 1"));
  EXPECT_THAT(thrown_text([&] { difference({{"v", {1, 2}}}, b); }), HasSubstr("'w'"));
  EXPECT_THAT(thrown_text([&] {
                difference({{"w", {1}}}, b);
              }),
              HasSubstr("1 numbers in one model, and in the other 2"));
}

}  // namespace
}  // namespace tandem::nn
