// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/stragglers.hpp"

#include <gtest/gtest.h>

namespace tandem::parallel::test {
namespace {

using namespace std::chrono_literals;

constexpr Device kA{DeviceType::cpu, 0}, kB{DeviceType::cpu, 1}, kC{DeviceType::cpu, 2};

TEST(StragglerTest, IsTheOneThatTakesTheRatioOfTheOthersMedian) {
  const std::vector<RowRange> rows{{0, 4}, {4, 8}, {8, 12}};
  const auto found = find_straggler({kA, kB, kC}, rows, {50ms, 400ms, 40ms}, 5);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->device, kB);
  EXPECT_DOUBLE_EQ(found->ratio, 10);
  EXPECT_FALSE(find_straggler({kA, kB, kC}, rows, {50ms, 400ms, 40ms}, 10).has_value());
}

TEST(StragglerTest, MoreRowsMayTakeMoreTime) {
  const std::vector<std::chrono::nanoseconds> times{10ms, 200ms};
  EXPECT_FALSE(find_straggler({kA, kB}, {{0, 1}, {1, 11}}, times, 5).has_value());
  EXPECT_TRUE(find_straggler({kA, kB}, {{0, 10}, {10, 11}}, times, 5).has_value());
}

TEST(StragglerTest, NeedsOthersAndMoreThanChance) {
  EXPECT_FALSE(find_straggler({kA}, {{0, 4}}, {5s}, 5).has_value());
  EXPECT_FALSE(find_straggler({kA, kB}, {{0, 4}, {4, 4}}, {5s, 0ms}, 5).has_value())
      << "a device without rows is no measure";
  EXPECT_FALSE(find_straggler({kA, kB}, {{0, 4}, {4, 8}}, {1ms, 15ms}, 5).has_value());
}

}  // namespace
}  // namespace tandem::parallel::test
