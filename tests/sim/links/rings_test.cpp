// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/rings.hpp"

#include <vector>

#include <gmock/gmock.h>

#include "tandem/sim/presets.hpp"

#include "thrown_text.hpp"

namespace tandem::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

/// A V100 machine with these pairs in place of its own.
Cluster mesh(int gpus, std::vector<NvLinkPair> pairs) {
  Cluster c = preset("v100-16x8");
  c.gpus.count = gpus;
  c.nvlink->links_per_gpu = 64;
  c.nvlink->pairs = std::move(pairs);
  return c;
}

std::vector<NvLinkPair> all_pairs(int gpus, int links) {
  std::vector<NvLinkPair> pairs;
  for (int a = 0; a < gpus; ++a)
    for (int b = a + 1; b < gpus; ++b)
      pairs.push_back({.first = a, .second = b, .links = links});
  return pairs;
}

// The bus bandwidths that were measured on such a machine are about as many times 22 GB/s: 22.6,
// 45.1, 85.4, 37.2 (of a chain), 45.7, 87.0 and 134.5 GB/s.
TEST(RingsTest, TheHybridCubeMeshHasAsManyAsItsMeasuredBandwidthsShow) {
  const Cluster dgx1 = preset("v100-16x8");
  std::vector<int> counts;
  for (int n = 2; n <= 8; ++n)
    counts.push_back(ring_count(dgx1, n));
  EXPECT_THAT(counts, ElementsAre(1, 2, 4, 0, 2, 4, 6));
}

TEST(RingsTest, FiveGpusOfTheMeshMakeAChain) {
  EXPECT_TRUE(has_chain(preset("v100-16x8"), 5));
  EXPECT_FALSE(has_chain(mesh(4, {{0, 1, 2}, {2, 3, 2}}), 4));
  EXPECT_TRUE(has_chain(mesh(4, {{1, 0, 1}, {1, 2, 1}, {3, 2, 1}}), 4));
}

TEST(RingsTest, TwoGpusHaveARingForEachLink) {
  EXPECT_EQ(ring_count(preset("rtx3090x2"), 2), 4);
  EXPECT_EQ(ring_count(preset("titan-rtx-x2"), 2), 2);
}

// A complete graph of an odd number of vertices is the union of its (n-1)/2 cycles, one of an even
// number has n/2 - 1 of them (Walecki, 1892).
TEST(RingsTest, CompleteGraphsFallIntoWaleckisCycles) {
  for (const auto& [n, cycles] : {std::pair{3, 1}, {4, 1}, {5, 2}, {6, 2}, {7, 3}, {8, 3}})
    EXPECT_EQ(ring_count(mesh(n, all_pairs(n, 1)), n), 2 * cycles) << n;
  // Twice the links of an even number leave no link over.
  EXPECT_EQ(ring_count(mesh(4, all_pairs(4, 2)), 4), 2 * 3);
}

TEST(RingsTest, ACycleOfPairsHasOneRingForEachLinkOfItsThinnestPair) {
  EXPECT_EQ(ring_count(mesh(4, {{0, 1, 3}, {1, 2, 2}, {2, 3, 5}, {3, 0, 4}}), 4), 2 * 2);
  EXPECT_EQ(ring_count(mesh(4, {{0, 1, 3}, {1, 2, 2}, {2, 3, 5}}), 4), 0);
}

TEST(RingsTest, RefusesOtherTopologiesAndNumbers) {
  EXPECT_THAT(thrown_text([] { ring_count(preset("a100-80x8"), 4); }),
              HasSubstr("do not join pairs"));
  EXPECT_THAT(thrown_text([] { ring_count(preset("t4x4"), 4); }), HasSubstr("do not join pairs"));
  EXPECT_THAT(thrown_text([] { ring_count(preset("v100-16x8"), 9); }),
              HasSubstr("from 2 to the 8"));
  EXPECT_THAT(thrown_text([] { has_chain(preset("v100-16x8"), 1); }), HasSubstr("from 2 to the 8"));
}

}  // namespace
}  // namespace tandem::sim
