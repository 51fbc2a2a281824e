// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/sampler.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SamplerTest, SequentialCounts) {
  EXPECT_THAT(sequential_sampler(4)(0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(sequential_sampler(4)(7), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(sequential_sampler(0)(0), IsEmpty());
  EXPECT_THROW(sequential_sampler(-1), InvalidArgument);
  EXPECT_THROW(random_sampler(-1, 0), InvalidArgument);
}

TEST(SamplerTest, RandomIsAPermutationThatFollowsFromSeedAndEpoch) {
  std::set<std::vector<std::int64_t>> seen;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40}) {
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<std::int64_t> order = random_sampler(100, seed)(epoch);
      EXPECT_EQ(order, random_sampler(100, seed)(epoch));
      seen.insert(order);
      std::ranges::sort(order);
      EXPECT_EQ(order, sequential_sampler(100)(0));
    }
  }
  EXPECT_EQ(seen.size(), 9u);  // seed and epoch both matter, and neither stands for the other
  EXPECT_THAT(random_sampler(0, 3)(0), IsEmpty());
  EXPECT_THAT(random_sampler(1, 3)(0), ElementsAre(0));
}

// Fixed for ever: a checkpoint of another version or machine goes on with the same batches. The
// numbers are those of a second program that follows the C++ standard's text of seed_seq
// ([rand.util.seedseq]) and of the engine.
TEST(SamplerTest, RandomIsTheSameOnAllMachines) {
  EXPECT_THAT(random_sampler(8, 42)(3), ElementsAre(6, 0, 4, 5, 3, 7, 2, 1));
  EXPECT_THAT(random_sampler(20, (std::uint64_t{1} << 40) + 5)(std::int64_t{1} << 33),
              ElementsAre(17, 5, 8, 15, 14, 0, 13, 10, 18, 11, 2, 7, 4, 1, 19, 9, 3, 16, 12, 6));
}

TEST(SamplerTest, EveryPermutationIsEquallyLikely) {
  std::map<std::vector<std::int64_t>, int> counts;
  constexpr int kDraws = 6000;
  for (int epoch = 0; epoch < kDraws; ++epoch)
    ++counts[random_sampler(3, 5)(epoch)];
  ASSERT_EQ(counts.size(), 6u);
  for (const auto& [order, count] : counts)
    EXPECT_NEAR(count, kDraws / 6, 150);  // five standard deviations
}

}  // namespace
}  // namespace tandem::data
