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

TEST(ChunksTest, SharesOfVeryManyRowsAddUpToThem) {
  const auto sum = [](const std::vector<std::int64_t>& chunks) {
    std::int64_t total = 0;
    for (const std::int64_t c : chunks) {
      EXPECT_GE(c, 0);
      EXPECT_FALSE(__builtin_add_overflow(total, c, &total));
    }
    return total;
  };
  constexpr std::int64_t kMany = 1'000'000'008'601'842'738;
  for (const std::int64_t rows : {kMany, kMany + 1, INT64_MAX - 1, INT64_MAX}) {
    EXPECT_EQ(sum(ChunkPolicy::weights({9, 4}).plan(rows, devices(2))), rows);
    EXPECT_EQ(sum(ChunkPolicy::weights({0, 1, 0}).plan(rows, devices(3))), rows);
    EXPECT_EQ(sum(ChunkPolicy::sizes({INT64_MAX - 9, 9}).plan(rows, devices(2))), rows);
    EXPECT_EQ(sum(ChunkPolicy::torch_chunk().plan(rows, devices(3))), rows);
  }
  EXPECT_THAT(ChunkPolicy::weights({1e308, 1e308}).plan(7, devices(2)), ElementsAre(4, 3));
  EXPECT_THAT(ChunkPolicy::weights({5e-324, 5e-324}).plan(7, devices(2)), ElementsAre(4, 3));
  EXPECT_THROW(ChunkPolicy::sizes({INT64_MAX, INT64_MAX, 2}), InvalidArgument);
}

TEST(ChunksTest, TorchChunkCutsAsPyTorchDoes) {
  const auto plan = [](std::int64_t rows, int n) {
    return ChunkPolicy::torch_chunk().plan(rows, devices(n));
  };
  EXPECT_THAT(plan(9, 4), ElementsAre(3, 3, 3, 0));
  EXPECT_THAT(plan(5, 4), ElementsAre(2, 2, 1, 0));
  EXPECT_THAT(plan(2, 3), ElementsAre(1, 1, 0)) << "fewer rows than devices";
  EXPECT_THAT(plan(1, 2), ElementsAre(1, 0));
  EXPECT_THAT(plan(8, 2), ElementsAre(4, 4));
  EXPECT_THAT(plan(0, 2), ElementsAre(0, 0));
  EXPECT_THAT(plan(7, 1), ElementsAre(7));
}

// What the scatter of kimiyoung/transformer-xl's BalancedDataParallel gives, to the row.
TEST(ChunksTest, BalancedDataParallelCutsEvenlyAboveTheEvenShare) {
  const auto plan = [](std::int64_t gpu0_bsz, std::int64_t rows, int n) {
    return ChunkPolicy::balanced_data_parallel(gpu0_bsz).plan(rows, devices(n));
  };
  EXPECT_THAT(plan(16, 52, 3), ElementsAre(16, 18, 18));
  EXPECT_THAT(plan(16, 53, 3), ElementsAre(16, 19, 18));
  EXPECT_THAT(plan(40, 96, 4), ElementsAre(24, 24, 24, 24)) << "above the share of the others";
  EXPECT_THAT(plan(30, 40, 2), ElementsAre(20, 20));
  EXPECT_THAT(plan(3, 9, 3), ElementsAre(3, 3, 3)) << "just the even share";
  EXPECT_THAT(plan(3, 10, 3), ElementsAre(4, 4, 2)) << "which PyTorch cuts by ceil";
  EXPECT_THAT(plan(40, 20, 3), ElementsAre(7, 7, 6)) << "more than the batch has";
  EXPECT_THAT(plan(0, 10, 3), ElementsAre(0, 5, 5));
  EXPECT_THAT(plan(0, 2, 4), ElementsAre(0, 1, 1, 0)) << "fewer rows than devices";
  EXPECT_THAT(plan(4, 7, 1), ElementsAre(7)) << "the original divides by zero";
}

// Cases that BalancedDataParallel's users reported (Link-Li/Balanced-DataParallel #3, #4, #16).
TEST(ChunksTest, Gpu0AndFewRows) {
  EXPECT_THAT(ChunkPolicy::gpu0(0).plan(1, devices(2)), ElementsAre(0, 1));
  EXPECT_THAT(ChunkPolicy::gpu0(1).plan(1, devices(3)), ElementsAre(1, 0, 0));
  EXPECT_THAT(ChunkPolicy::gpu0(0).plan(2, devices(4)), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(ChunkPolicy::gpu0(1).plan(158, devices(2)), ElementsAre(1, 157));
  EXPECT_THAT(ChunkPolicy::gpu0(52).plan(52, devices(3)), ElementsAre(52, 0, 0));
}

TEST(ChunksTest, PoliciesSayWhatTheyAre) {
  EXPECT_EQ(ChunkPolicy::even().describe(), "even");
  EXPECT_EQ(ChunkPolicy::sizes({40, 72}).describe(), "sizes 40,72");
  EXPECT_EQ(ChunkPolicy::weights({1, 0.5}).describe(), "weights 1,0.5");
  EXPECT_EQ(ChunkPolicy::free_memory().describe(), "free memory");
  EXPECT_EQ(ChunkPolicy::gpu0(40).describe(), "gpu0 40");
  EXPECT_EQ(ChunkPolicy::torch_chunk().describe(), "torch chunk");
  EXPECT_EQ(ChunkPolicy::balanced_data_parallel(40).describe(), "BalancedDataParallel 40");
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
  EXPECT_THAT(ChunkPolicy::weights({1, 1, 1}).plan(2, devices(3)), ElementsAre(1, 1, 0));
  EXPECT_THAT(ChunkPolicy::weights({1e-9, 1}).plan(4, devices(2)), ElementsAre(0, 4));
}

TEST(ChunksTest, FreeMemoryFollowsTheLimits) {
  const auto here = devices(2);
  logical_device(here[0]).set_limit(logical_device(here[0]).memory_stats().in_use + 1000);
  logical_device(here[1]).set_limit(logical_device(here[1]).memory_stats().in_use + 3000);
  EXPECT_THAT(ChunkPolicy::free_memory().plan(8, here), ElementsAre(2, 6));
  logical_device(here[0]).set_limit(logical_device(here[0]).memory_stats().in_use);
  EXPECT_THAT(ChunkPolicy::free_memory().plan(8, here), ElementsAre(0, 8)) << "device 0 is full";
  logical_device(here[1]).set_limit(logical_device(here[1]).memory_stats().in_use);
  EXPECT_THAT(ChunkPolicy::free_memory().plan(8, here), ElementsAre(4, 4)) << "all are full";
  for (const Device d : here)
    logical_device(d).set_limit(SIZE_MAX);
  EXPECT_THAT(ChunkPolicy::free_memory().plan(8, here), ElementsAre(4, 4)) << "no limits";
}

TEST(ChunksTest, BadPoliciesSayBothValues) {
  EXPECT_THAT(thrown_text([] { ChunkPolicy::gpu0(-1); }), HasSubstr("gpu0_bsz is -1"));
  EXPECT_THAT(thrown_text([] { ChunkPolicy::sizes({1, -2}); }), HasSubstr("-2 is negative"));
  EXPECT_THAT(thrown_text([] {
                ChunkPolicy::sizes({0, 0});
              }),
              HasSubstr("give at least one device rows"));
  EXPECT_THAT(thrown_text([] {
                ChunkPolicy::sizes({INT64_MAX, INT64_MAX, 258});
              }),
              HasSubstr("does not fit in 64 bits"));
  EXPECT_THAT(thrown_text([] { ChunkPolicy::weights({0.0, 0.0}); }), HasSubstr("all are zero"));
  EXPECT_THAT(thrown_text([] {
                ChunkPolicy::sizes({1, 2}).plan(3, devices(3));
              }),
              HasSubstr("2 sizes for 3 devices"));
  EXPECT_THAT(thrown_text([] {
                ChunkPolicy::sizes({1, 2}).plan(4, devices(2));
              }),
              HasSubstr("add up to 3 rows, but the batch has 4"));
}

RC_GTEST_PROP(ChunksProperty, EveryPolicySharesOutEveryRow, ()) {
  const int n = *rc::gen::inRange(1, std::min(8, testing::device_limit()) + 1);
  const auto rows = *rc::gen::inRange<std::int64_t>(0, 2000);
  const auto g = *rc::gen::inRange<std::int64_t>(0, 2000);
  const auto weights = *rc::gen::container<std::vector<double>>(
      static_cast<std::size_t>(n),
      rc::gen::map(rc::gen::inRange(1, 100), [](int w) { return w / 7.0; }));
  for (const ChunkPolicy& policy : {ChunkPolicy::even(),
                                    ChunkPolicy::gpu0(g),
                                    ChunkPolicy::torch_chunk(),
                                    ChunkPolicy::balanced_data_parallel(g),
                                    ChunkPolicy::weights(weights)}) {
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
