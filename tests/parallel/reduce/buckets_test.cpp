// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/buckets.hpp"

#include <utility>

#include <gmock/gmock.h>

#include "tandem/tensor/factories.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

/// Four f32 tensors, of which `c` is frozen, and one of f64. Each takes 256 bytes.
optim::ArenaLayout five_places() {
  const auto tensor = [](DType t) { return zeros({3}, {.dtype = t}).requires_grad_(); };
  const Tensor frozen = zeros({3});
  return optim::ArenaLayout({{"a", tensor(DType::f32)},
                             {"b", tensor(DType::f32)},
                             {"c", frozen},
                             {"d", tensor(DType::f32)},
                             {"e", tensor(DType::f64)}});
}

std::vector<std::vector<std::size_t>> places_of(const std::vector<Bucket>& buckets) {
  std::vector<std::vector<std::size_t>> places;
  for (const Bucket& bucket : buckets)
    places.push_back(bucket.places);
  return places;
}

TEST(BucketsTest, OfGradientsGoFromTheLastPlaceToTheFirstByType) {
  const auto buckets = plan_buckets(five_places(), 1 << 20, 1 << 20);
  EXPECT_THAT(places_of(buckets), ElementsAre(ElementsAre(4), ElementsAre(3, 1, 0)));
  EXPECT_EQ(buckets[1].range().begin, 0);
  EXPECT_EQ(buckets[1].range().end, 192) << "with the padding";
}

TEST(BucketsTest, AreClosedOnceTheyHaveReachedTheirSize) {
  const optim::ArenaLayout layout = five_places();
  EXPECT_THAT(places_of(plan_buckets(layout, 1, 257)),
              ElementsAre(ElementsAre(4), ElementsAre(3, 1), ElementsAre(0)));
  EXPECT_THAT(places_of(plan_buckets(layout, 1, 256)),
              ElementsAre(ElementsAre(4), ElementsAre(3), ElementsAre(1), ElementsAre(0)));
}

TEST(BucketsTest, OnlyTheFirstHasTheFirstSize) {
  const auto tensor = [] { return zeros({16}).requires_grad_(); };
  const optim::ArenaLayout layout(
      std::vector<optim::ArenaEntry>{{"a", tensor()}, {"b", tensor()}, {"c", tensor()}});
  EXPECT_THAT(places_of(plan_buckets(layout, 1, 1 << 20)),
              ElementsAre(ElementsAre(2), ElementsAre(1, 0)));
}

TEST(BucketsTest, OfValuesGoInTheOrderOfForwardAndHoldWhatDoesNotTrain) {
  EXPECT_THAT(places_of(plan_broadcast(five_places(), 1 << 20, 1 << 20)),
              ElementsAre(ElementsAre(0, 1, 3), ElementsAre(2), ElementsAre(4)));
}

TEST(BucketsTest, SharesCutTheRangeEvenly) {
  const Bucket bucket{0, {{10, 21}}, {}};
  const auto share = [&](int r) {
    const Share s = share_of(bucket, r, 3);
    return std::pair(s.begin, s.end);
  };
  EXPECT_EQ(share(0), std::pair(std::int64_t{10}, std::int64_t{14}));
  EXPECT_EQ(share(1), std::pair(std::int64_t{14}, std::int64_t{18}));
  EXPECT_EQ(share(2), std::pair(std::int64_t{18}, std::int64_t{21}));
}

TEST(BucketsTest, ARangeSharesTheStorage) {
  Tensor flat = arange(0, 8);
  const Tensor middle = range(range(flat, {1, 7}), {1, 4});
  EXPECT_THAT(middle.to_doubles(), ElementsAre(2, 3, 4));
  flat.fill_(9);
  EXPECT_THAT(middle.to_doubles(), Each(9));
}

}  // namespace
}  // namespace tandem::parallel::test
