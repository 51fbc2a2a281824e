// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/plan/micro_batches.hpp"

#include <gmock/gmock.h>

#include "devices.hpp"

namespace tandem::parallel::test {
namespace {

using testing::devices;
using ::testing::ElementsAre;
using Rows = std::vector<RowRange>;

TEST(MicroBatchesTest, OneIsThePlan) {
  const Rows plan{{0, 3}, {3, 3}, {3, 7}};
  EXPECT_THAT(cut_micro_batches(plan, devices(3), 1), ElementsAre(plan));
}

TEST(MicroBatchesTest, AreRunsOfRowsWhoseSizesDifferByOneAtMost) {
  for (const Rows& plan : {Rows{{0, 11}, {11, 11}}, Rows{{0, 2}, {2, 11}}, Rows{{0, 0}, {0, 11}}}) {
    std::vector<RowRange> wholes;
    for (const Rows& part : cut_micro_batches(plan, devices(2), 3)) {
      EXPECT_EQ(part[0].end, part[1].begin) << "no gap";
      wholes.push_back({part[0].begin, part[1].end});
    }
    EXPECT_THAT(wholes, ElementsAre(RowRange{0, 4}, RowRange{4, 8}, RowRange{8, 11}))
        << "the same for any plan";
  }
}

TEST(MicroBatchesTest, ADevicesRowsAddUpToThoseOfThePlan) {
  const Rows plan{{0, 5}, {5, 6}, {6, 6}, {6, 13}};
  for (const std::int64_t count : {1, 2, 3, 5, 13}) {
    std::vector<std::int64_t> rows(plan.size());
    for (const Rows& part : cut_micro_batches(plan, devices(4), count)) {
      for (std::size_t d = 0; d < plan.size(); ++d)
        rows[d] += part[d].size();
    }
    EXPECT_THAT(rows, ElementsAre(5, 1, 0, 7)) << count << " micro-batches";
  }
}

TEST(MicroBatchesTest, EachIsDividedInProportionToThePlan) {
  const auto parts = cut_micro_batches({{0, 2}, {2, 8}}, devices(2), 2);
  EXPECT_THAT(parts, ElementsAre(Rows{{0, 1}, {1, 4}}, Rows{{4, 5}, {5, 8}}));
}

TEST(MicroBatchesTest, ThereIsAtMostOneForEachRow) {
  EXPECT_EQ(cut_micro_batches({{0, 2}, {2, 3}}, devices(2), 7).size(), 3u);
  EXPECT_TRUE(cut_micro_batches({{0, 0}, {0, 0}}, devices(2), 2).empty());
}

}  // namespace
}  // namespace tandem::parallel::test
