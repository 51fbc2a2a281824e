// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/integer_bounds.hpp"

#include <optional>
#include <tuple>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/tensor/factories.hpp"

#include "tensor/view_of.hpp"

namespace tandem::kernels {
namespace {

using Bounds = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

Bounds bounds_of(const Tensor& x) {
  const IntegerBounds b = integer_bounds(HostStream{x.device()}, view_of(x));
  return {b.least, b.next_to_least, b.next_to_greatest, b.greatest};
}

TEST(IntegerBoundsTest, AreTheTwoLeastAndTheTwoGreatestValues) {
  EXPECT_EQ(bounds_of(tensor<std::int64_t>({3, -100, 7, -100, 5, 7})), Bounds(-100, 3, 5, 7));
  EXPECT_EQ(bounds_of(tensor<std::int64_t>({INT64_MAX, INT64_MIN})),
            Bounds(INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX));
  EXPECT_EQ(bounds_of(tensor<std::int32_t>({4, 4})), Bounds(4, 4, 4, 4));
  EXPECT_EQ(bounds_of(tensor<std::uint8_t>({255, 9, 10})), Bounds(9, 10, 10, 255));
}

TEST(IntegerBoundsTest, AreOfIntegersOnly) {
  EXPECT_THROW(bounds_of(ones({2})), InternalError);
}

TEST(IntegerBoundsTest, ShowThatAllAreWithinASizeOrIgnored) {
  const IntegerBounds bounds{
      .least = -100, .greatest = 9, .next_to_least = 0, .next_to_greatest = 8};
  EXPECT_TRUE(bounds.show_within(10, -100));
  EXPECT_FALSE(bounds.show_within(9, -100));
  EXPECT_FALSE(bounds.show_within(10, -1));
  EXPECT_FALSE(bounds.show_within(10, std::nullopt));
  const IntegerBounds map{.least = 0, .greatest = 255, .next_to_least = 1, .next_to_greatest = 20};
  EXPECT_TRUE(map.show_within(21, 255));
  EXPECT_FALSE(map.show_within(20, 255));
}

}  // namespace
}  // namespace tandem::kernels
