// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/core/shape.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

namespace tandem {
namespace {

TEST(ShapeTest, StridesAndContiguity) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ(channels_last_strides({2, 3, 4, 5}), (Strides{60, 1, 15, 3}));
  EXPECT_TRUE(is_contiguous({2, 1, 4}, {4, 99, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {1, 2}));
  EXPECT_TRUE(is_contiguous({0, 3}, {7, 7}));
  EXPECT_EQ(numel({}), 1);
}

TEST(ShapeTest, SizesThatOverflowAreNoSmallNumbers) {
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(numel({huge + 1, 4}), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(numel({huge, 4, 0}), 0);
  EXPECT_THROW(contiguous_strides({1, huge, 4}), InvalidArgument);
  EXPECT_THROW(contiguous_strides({0, huge, 4}), InvalidArgument);
  EXPECT_THROW(channels_last_strides({1, 4, huge, 1}), InvalidArgument);
}

TEST(ShapeTest, BroadcastGivesNumPyShapes) {
  EXPECT_EQ(broadcast_shapes({4, 1, 3}, {5, 1}, "add"), (Shape{4, 5, 3}));
  EXPECT_EQ(broadcast_shapes({}, {2}, "add"), (Shape{2}));
  EXPECT_EQ(broadcast_shapes({0, 3}, {1, 3}, "add"), (Shape{0, 3}));
}

TEST(ShapeTest, BroadcastErrorHasBothShapes) {
  try {
    broadcast_shapes({2, 3}, {4}, "add");
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("add: shapes (2, 3) and (4) do not broadcast"));
  }
}

TEST(ShapeTest, DimsInsertEraseAndBounds) {
  Dims d{1, 3};
  d.insert(1, 2);
  EXPECT_EQ(d, (Dims{1, 2, 3}));
  d.erase(0);
  EXPECT_EQ(d, (Dims{2, 3}));
  EXPECT_EQ(d[-1], 3);
  EXPECT_THROW(d[2], InvalidArgument);
  EXPECT_THROW((Dims{1, 2, 3, 4, 5, 6, 7, 8, 9}), InvalidArgument);
  EXPECT_EQ(normalize_dim(-1, 3, "sum"), 2);
  EXPECT_EQ(normalize_dim(-1, 0, "sum"), 0);
  EXPECT_THROW(normalize_dim(3, 3, "sum"), InvalidArgument);
}

}  // namespace
}  // namespace tandem
