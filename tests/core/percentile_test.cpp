// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/core/percentile.hpp"

#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

namespace tandem {
namespace {

TEST(PercentileTest, IsTheNearestRank) {
  const std::vector<double> ten{7, 3, 10, 1, 9, 2, 8, 4, 6, 5};
  EXPECT_EQ(percentile(ten, 0), 1);
  EXPECT_EQ(percentile(ten, 0.05), 1);
  EXPECT_EQ(percentile(ten, 0.5), 5);
  EXPECT_EQ(percentile(ten, 0.51), 6);
  EXPECT_EQ(percentile(ten, 0.9), 9);
  EXPECT_EQ(percentile(ten, 1), 10);
  EXPECT_EQ(percentile({4, 2, 3}, 0.5), 3);
  EXPECT_EQ(percentile({8}, 0.01), 8);
  EXPECT_EQ(percentile({}, 0.5), 0);
}

TEST(PercentileTest, ShareOutsideIsRefused) {
  EXPECT_THROW(percentile({1, 2}, 50), InvalidArgument);
  EXPECT_THROW(percentile({1, 2}, -0.1), InvalidArgument);
}

}  // namespace
}  // namespace tandem
