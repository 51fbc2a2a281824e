// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/chunks.hpp"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/runtime.hpp"

#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel {
namespace {

using tandem::testing::thrown_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using testing::devices;

// The figures of BalancedDataParallel (transformer-xl), with what it gets wrong put right.
TEST(ChunksTest, Gpu0FollowsBalancedDataParallelToTheRow) {
  EXPECT_THAT(ChunkPolicy::gpu0(16).plan(52, devices(3)), ElementsAre(16, 18, 18));
  EXPECT_THAT(ChunkPolicy::gpu0(16).plan(53, devices(3)), ElementsAre(16, 19, 18));
  EXPECT_THAT(ChunkPolicy::gpu0(0).plan(10, devices(3)), ElementsAre(0, 5, 5));
  EXPECT_THAT(ChunkPolicy::gpu0(40).plan(96, devices(4)), ElementsAre(40, 19, 19, 18));
  EXPECT_THAT(ChunkPolicy::gpu0(40).plan(20, devices(3)), ElementsAre(20, 0, 0));
  EXPECT_THAT(ChunkPolicy::gpu0(30).plan(40, devices(2)), ElementsAre(30, 10))
      << "above the even share, and honoured";
  EXPECT_THAT(ChunkPolicy::gpu0(0).plan(7, devices(1)), ElementsAre(7))
      << "one device takes all rows";
}

TEST(ChunksTest, EvenSizesDifferByAtMostOne) {
  EXPECT_THAT(ChunkPolicy::even().plan(9, devices(4)), ElementsAre(3, 2, 2, 2));
  EXPECT_THAT(ChunkPolicy::even().plan(2, devices(3)), ElementsAre(1, 1, 0));
  EXPECT_THAT(ChunkPolicy::even().plan(0, devices(2)), ElementsAre(0, 0));
}

TEST(ChunksTest, SizesScaleByLargestRemainder) {
  const auto policy = ChunkPolicy::sizes({40, 72, 72, 72});
  EXPECT_THAT(policy.plan(256, devices(4)), ElementsAre(40, 72, 72, 72));
  EXPECT_THAT(policy.plan(96, devices(4)), ElementsAre(15, 27, 27, 27));
  EXPECT_THAT(policy.plan(10, devices(4)), ElementsAre(1, 3, 3, 3));  // 1.56, 2.81, 2.81, 2.81
  EXPECT_THAT(ChunkPolicy::sizes({0, 5}).plan(3, devices(2)), ElementsAre(0, 3));
}

TEST(ChunksTest, WeightsShareInProportion) {
  EXPECT_THAT(ChunkPolicy::weights({1, 3}).plan(8, devices(2)), ElementsAre(2, 6));
  EXPECT_THAT(ChunkPolicy::weights({1, 0, 1}).plan(5, devices(3)), ElementsAre(3, 0, 2));
}

TEST(ChunksTest, FreeMemoryFollowsTheLimits) {
  const auto here = devices(2);
  logical_device(here[0]).set_limit(logical_device(here[0]).memory_stats().in_use + 1000);
  logical_device(here[1]).set_limit(logical_device(here[1]).memory_stats().in_use + 3000);
  EXPECT_THAT(ChunkPolicy::free_memory().plan(8, here), ElementsAre(2, 6));
  for (const Device d : here)
    logical_device(d).set_limit(SIZE_MAX);
  EXPECT_THAT(ChunkPolicy::free_memory().plan(8, here), ElementsAre(4, 4));
}

TEST(ChunksTest, BadPoliciesSayBothValues) {
  EXPECT_THAT(thrown_text([] { ChunkPolicy::gpu0(-1); }), HasSubstr("gpu0_bsz is -1"));
  EXPECT_THAT(thrown_text([] { ChunkPolicy::sizes({1, -2}); }), HasSubstr("-2 is negative"));
  EXPECT_THAT(thrown_text([] { ChunkPolicy::sizes({0, 0}); }), HasSubstr("no device has rows"));
  EXPECT_THAT(thrown_text([] { ChunkPolicy::weights({0.0, 0.0}); }), HasSubstr("all are zero"));
  EXPECT_THAT(thrown_text([] {
                ChunkPolicy::sizes({1, 2}).plan(3, devices(3));
              }),
              HasSubstr("2 sizes for 3 devices"));
  EXPECT_THAT(thrown_text([] {
                ChunkPolicy::sizes({1, 2}).plan(4, devices(2));
              }),
              HasSubstr("add up to 3 rows, the batch has 4"));
}

RC_GTEST_PROP(ChunksProperty, EveryPolicySharesOutEveryRow, ()) {
  const int n = *rc::gen::inRange(1, std::min(8, testing::device_limit()) + 1);
  const auto rows = *rc::gen::inRange<std::int64_t>(0, 2000);
  const auto g = *rc::gen::inRange<std::int64_t>(0, 2000);
  const auto weights = *rc::gen::container<std::vector<double>>(
      static_cast<std::size_t>(n),
      rc::gen::map(rc::gen::inRange(1, 100), [](int w) { return w / 7.0; }));
  for (const ChunkPolicy& policy :
       {ChunkPolicy::even(), ChunkPolicy::gpu0(g), ChunkPolicy::weights(weights)}) {
    const auto chunks = policy.plan(rows, devices(n));
    RC_ASSERT(chunks.size() == static_cast<std::size_t>(n));
    RC_ASSERT(std::accumulate(chunks.begin(), chunks.end(), std::int64_t{0}) == rows);
    for (const auto c : chunks)
      RC_ASSERT(c >= 0);
  }
  const auto even = ChunkPolicy::even().plan(rows, devices(n));
  RC_ASSERT(even.front() - even.back() <= 1);
}

}  // namespace
}  // namespace tandem::parallel
