// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/sampler.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

namespace tandem::datasets {
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

// The values of torch.utils.data.DistributedSampler(range(size), ranks, rank, shuffle=False).
TEST(SamplerTest, RanksTakeTurns) {
  const auto part = [](std::int64_t size, int ranks, int rank, Uneven uneven = Uneven::repeat) {
    return distributed_sampler(sequential_sampler(size), ranks, rank, uneven)(0);
  };
  EXPECT_THAT(part(11, 2, 0), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(part(11, 2, 1), ElementsAre(1, 3, 5, 7, 9, 0));
  EXPECT_THAT(part(11, 2, 1, Uneven::drop), ElementsAre(1, 3, 5, 7, 9));
  EXPECT_THAT(part(3, 8, 7), ElementsAre(1));  // more ranks than samples: they come thrice
  EXPECT_THAT(part(3, 8, 7, Uneven::drop), IsEmpty());
  EXPECT_THAT(part(0, 3, 1), IsEmpty());
}

TEST(SamplerTest, RanksShareAnEpochAndRepeatNothingTheyDropped) {
  for (const std::int64_t size : {9, 12, 31}) {
    for (const int ranks : {1, 4, 5}) {
      std::vector<std::int64_t> counted, dropped;
      for (int rank = 0; rank < ranks; ++rank) {
        const Sampler whole = random_sampler(size, 7);
        const auto own = distributed_sampler(whole, ranks, rank)(3);
        EXPECT_EQ(own, distributed_sampler(whole, ranks, rank)(3));
        EXPECT_NE(own, distributed_sampler(whole, ranks, rank)(4));
        EXPECT_EQ(own.size(), static_cast<std::size_t>((size + ranks - 1) / ranks));
        counted.insert(
            counted.end(), own.begin(), own.begin() + unrepeated_count(size, ranks, rank));
        const auto even = distributed_sampler(whole, ranks, rank, Uneven::drop)(3);
        EXPECT_EQ(even.size(), static_cast<std::size_t>(size / ranks));
        dropped.insert(dropped.end(), even.begin(), even.end());
      }
      std::ranges::sort(counted);
      EXPECT_EQ(counted, sequential_sampler(size)(0)) << size << " on " << ranks;
      EXPECT_EQ(std::set(dropped.begin(), dropped.end()).size(), dropped.size());
    }
  }
}

TEST(SamplerTest, ARankThatIsNotThereIsRefused) {
  for (const int rank : {-1, 3, 4}) {
    EXPECT_THAT([&] { distributed_sampler(sequential_sampler(4), 3, rank); },
                ::testing::ThrowsMessage<InvalidArgument>(::testing::HasSubstr("0 to 2")));
  }
  EXPECT_THROW(distributed_sampler(sequential_sampler(4), 0, 0), InvalidArgument);
  EXPECT_THROW(unrepeated_count(4, 2, 2), InvalidArgument);
}

}  // namespace
}  // namespace tandem::datasets
