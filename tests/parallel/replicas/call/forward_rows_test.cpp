// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/forward_rows.hpp"

#include <gtest/gtest.h>

namespace tandem::parallel::test {
namespace {

TEST(ForwardRowsTest, RanksThatHaveJoinedHaveNoPartInTheBatch) {
  const ForwardRows forward{.rows = {-1, 3, -1, 0, 4}};
  EXPECT_EQ(forward.all_rows(), 7);
  EXPECT_EQ(forward.active(), 3) << "a rank without rows is active";
  EXPECT_EQ(forward.first_active(), 1);
  EXPECT_EQ(forward.range_of(1).begin, 0);
  EXPECT_EQ(forward.range_of(1).end, 3);
  EXPECT_EQ(forward.range_of(3).begin, 3);
  EXPECT_EQ(forward.range_of(3).end, 3);
  EXPECT_EQ(forward.range_of(4).begin, 3);
  EXPECT_EQ(forward.range_of(4).end, 7);
}

TEST(ForwardRowsTest, WhenAllHaveJoinedNoRankIsTheFirst) {
  const ForwardRows forward{.rows = {-1, -1}};
  EXPECT_EQ(forward.first_active(), -1);
  EXPECT_EQ(forward.active(), 0);
  EXPECT_EQ(forward.all_rows(), 0);
}

}  // namespace
}  // namespace tandem::parallel::test
