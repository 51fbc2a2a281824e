// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/leaves.hpp"

#include <cmath>
#include <set>

#include <gmock/gmock.h>

#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(LeavesTest, AreTheSameForAllPlansAndCoverTheBatch) {
  const std::vector<RowRange> one{{0, 10}}, three{{0, 2}, {2, 2}, {2, 10}};
  const std::vector<Leaf> a = cut_leaves(one, 4), b = cut_leaves(three, 4);
  ASSERT_EQ(a.size(), 4u);
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_EQ(a[k].rows, b[k].rows);
  EXPECT_EQ(a[0].rows, (RowRange{0, 3}));
  EXPECT_EQ(a[3].rows, (RowRange{8, 10}));
}

TEST(LeavesTest, ThereIsAtMostOneForEachRow) {
  EXPECT_EQ(cut_leaves({{0, 10}}, 64).size(), 10u);
  EXPECT_TRUE(cut_leaves({{0, 0}, {0, 0}}, 4).empty());
}

TEST(LeavesTest, GoToTheDeviceThatHasTheirMiddleRow) {
  // Leaves 0-3, 3-6, 6-8, 8-10 have the middle rows 1, 4, 7 and 9.
  const auto devices_of = [](const std::vector<RowRange>& plan) {
    std::vector<int> list;
    for (const Leaf& leaf : cut_leaves(plan, 4))
      list.push_back(leaf.device);
    return list;
  };
  EXPECT_THAT(devices_of({{0, 2}, {2, 2}, {2, 10}}), ElementsAre(0, 2, 2, 2));
  EXPECT_THAT(devices_of({{0, 1}, {1, 5}, {5, 10}}), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(devices_of({{0, 0}, {0, 9}, {9, 10}}), ElementsAre(1, 1, 1, 2));
}

TEST(LeavesTest, RowsAreThoseOfWholeLeaves) {
  const std::vector<Leaf> leaves{{0, {0, 3}}, {2, {3, 6}}, {2, {6, 8}}};
  EXPECT_THAT(rows_of(leaves, 4),
              ElementsAre(RowRange{0, 3}, RowRange{3, 3}, RowRange{3, 8}, RowRange{8, 8}));
}

Tensor number(double value, DType dtype = DType::f64) {
  return full({1}, value, {.dtype = dtype});
}

TEST(LeafSumsTest, SumOfNothingIsEmpty) {
  LeafSums sums;
  EXPECT_TRUE(sums.empty());
  EXPECT_TRUE(sums.total().empty());
}

TEST(LeafSumsTest, EachTensorIsAddedUp) {
  LeafSums sums;
  for (std::size_t k = 0; k < 5; ++k)
    sums.add(k, {number(static_cast<double>(k)), number(10)});
  const std::vector<Tensor> total = sums.total();
  ASSERT_EQ(total.size(), 2u);
  EXPECT_EQ(total[0].item(), 10);
  EXPECT_EQ(total[1].item(), 50);
  sums.clear();
  EXPECT_TRUE(sums.empty());
}

// A number is lost in a sum with 2^60, so the total tells what was added to what.
TEST(LeafSumsTest, NeighboursAreAddedBeforeNeighboursOfNeighbours) {
  const double big = std::pow(2.0, 60);
  const std::vector<double> values{1, big, -big, 1, 1, 1};
  LeafSums sums;
  for (std::size_t k = 0; k < values.size(); ++k)
    sums.add(k, {number(values[k])});
  EXPECT_EQ(sums.total().at(0).item(), 2) << "one after the other makes 3";
}

TEST(LeafSumsTest, KeepsOneSumOfLeavesWhoseNumberIsAPowerOfTwo) {
  const auto in_use = [] { return logical_device(testing::device(0)).memory_stats().in_use; };
  const std::size_t before = in_use();
  LeafSums sums;
  std::vector<std::size_t> nbytes;
  for (std::size_t k = 0; k < 8; ++k) {
    sums.add(k, {ones({1000}, {.device = testing::device(0)})});
    nbytes.push_back(in_use() - before);
  }
  EXPECT_EQ(nbytes[1], nbytes[0]);
  EXPECT_EQ(nbytes[6], 3 * nbytes[0]) << "of four, two and one";
  EXPECT_EQ(nbytes[7], nbytes[0]);
}

// Powers of 1/3 in f32: each order of sums has its own bits.
TEST(LeafSumsTest, TheTreeIsTheSameHoweverLeavesAreShared) {
  for (std::size_t leaves = 1; leaves <= 13; ++leaves) {
    std::set<float> sums;
    for (std::size_t cut = 0; cut <= leaves; ++cut) {
      LeafSums first, second;
      for (std::size_t k = 0; k < leaves; ++k)
        (k < cut ? first : second)
            .add(k, {number(std::pow(1.0 / 3.0, static_cast<double>(k % 7)), DType::f32)});
      first.append_copy(second, get_default_device());
      sums.insert(first.total().at(0).to_host<float>().at(0));
    }
    EXPECT_EQ(sums.size(), 1u) << leaves << " leaves";
  }
}

TEST(LeafSumsTest, JoinsSumsOfSeveralDevicesOnOne) {
  LeafSums all;
  for (int d = 0; d < 3; ++d) {
    LeafSums own;
    own.add(static_cast<std::size_t>(d), {full({2}, d + 1, {.device = testing::device(d)})});
    all.append_copy(own, testing::device(1));
  }
  const std::vector<Tensor> total = all.total();
  ASSERT_EQ(total.size(), 1u);
  EXPECT_EQ(total[0].device(), testing::device(1));
  EXPECT_THAT(total[0].to_doubles(), Each(6));
}

}  // namespace
}  // namespace tandem::parallel::test
