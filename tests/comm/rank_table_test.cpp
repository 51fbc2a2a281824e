// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/rank_table.hpp"

#include <gmock/gmock.h>

#include "thrown_text.hpp"

namespace tandem::comm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<int> local_ranks(const RankTable& table) {
  std::vector<int> numbers;
  for (int r = 0; r < table.size(); ++r)
    numbers.push_back(table.local_rank(r));
  return numbers;
}

TEST(RankTableTest, CountsTheRanksOfEachHost) {
  const std::vector<Device> devices(5, Device{DeviceType::cpu, 0});
  const std::vector<std::string> places(5, "cpu:0");
  const RankTable table(devices, places, {0, 0, 1, 2, 3}, 0, {"a", "a", "b", "a", "b"});
  EXPECT_EQ(local_ranks(table), (std::vector{0, 1, 0, 2, 1}));
  EXPECT_EQ(local_ranks(table.split({4, 3, 2, 0})), (std::vector{0, 0, 1, 1}));
  EXPECT_EQ(local_ranks(RankTable(devices, places, {0, 0, 1, 2, 3}, 0)),
            (std::vector{0, 1, 2, 3, 4}));
  EXPECT_THAT(testing::thrown_text([&] {
                RankTable(devices, places, {0, 0, 1, 2, 3}, 0, {"a"});
              }),
              AllOf(HasSubstr("group of 5 ranks"), HasSubstr("1 hosts")));
}

}  // namespace
}  // namespace tandem::comm
