// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/find_straggler.hpp"

#include <gtest/gtest.h>

namespace tandem::parallel::test {
namespace {

using namespace std::chrono_literals;

constexpr Device kA{DeviceType::cpu, 0}, kB{DeviceType::cpu, 1}, kC{DeviceType::cpu, 2};

TEST(StragglerTest, IsTheOneThatTakesTheRatioOfTheOthersMedian) {
  const std::vector<ForwardTime> times{{kA, 4, 50ms}, {kB, 4, 400ms}, {kC, 4, 40ms}};
  const auto found = find_straggler(times, 5);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->device, kB);
  EXPECT_DOUBLE_EQ(found->ratio, 10);
  EXPECT_FALSE(find_straggler(times, 10).has_value());
}

TEST(StragglerTest, MoreRowsMayTakeMoreTime) {
  EXPECT_FALSE(find_straggler({{kA, 1, 10ms}, {kB, 10, 200ms}}, 5).has_value());
  EXPECT_TRUE(find_straggler({{kA, 10, 10ms}, {kB, 1, 200ms}}, 5).has_value());
}

TEST(StragglerTest, NeedsOthersAndMoreThanChance) {
  EXPECT_FALSE(find_straggler({{kA, 4, 5s}}, 5).has_value());
  EXPECT_FALSE(find_straggler({{kA, 4, 5s}, {kB, 0, 0ms}}, 5).has_value())
      << "a device without rows is no measure";
  EXPECT_FALSE(find_straggler({{kA, 4, 1ms}, {kB, 4, 15ms}}, 5).has_value());
}

}  // namespace
}  // namespace tandem::parallel::test
