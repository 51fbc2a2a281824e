// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/rank_rows.hpp"

#include <gmock/gmock.h>

#include "parallel/rank_program.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::ElementsAre;

TEST(RankRowsTest, EveryRankHearsTheRowsOfAll) {
  on_ranks(3, [](comm::Communicator& comm) {
    const RankRows rows(comm);
    const ForwardRows forward = rows.exchange(comm.rank() * 2, GradientSync::on);
    EXPECT_THAT(forward.rows, ElementsAre(0, 2, 4));
    EXPECT_TRUE(forward.syncs);
  });
}

TEST(RankRowsTest, RanksThatHaveJoinedDoNotSayWhetherGradientsAreReduced) {
  on_ranks(2, [](comm::Communicator& comm) {
    const RankRows rows(comm);
    const bool joined = comm.rank() == 1;
    const ForwardRows forward =
        rows.exchange(joined ? -1 : 5, joined ? GradientSync::on : GradientSync::off);
    EXPECT_THAT(forward.rows, ElementsAre(5, -1));
    EXPECT_FALSE(forward.syncs);
  });
}

TEST(RankRowsTest, TheGroupIsOfTheActiveRanks) {
  on_ranks(3, [](comm::Communicator& comm) {
    RankRows rows(comm);
    const auto all = rows.group();
    rows.regroup({.rows = {1, 1, 1}});
    EXPECT_EQ(rows.group(), all) << "the same members, the same group";
    rows.regroup({.rows = {-1, 1, 1}});
    if (comm.rank() == 0) {
      EXPECT_EQ(rows.group(), nullptr);
      return;
    }
    const Tensor x = full({1}, comm.rank(), {.dtype = DType::f64, .device = comm.device()});
    EXPECT_EQ(rows.group()->all_reduce_sum(x).item(), 3) << "1 + 2, without rank 0";
  });
}

}  // namespace
}  // namespace tandem::parallel::test
