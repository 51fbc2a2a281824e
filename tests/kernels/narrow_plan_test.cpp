// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/narrow_plan.hpp"

#include <cstdint>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/places.hpp"

namespace tandem::kernels {
namespace {

View view_of(const Shape& shape, const Strides& strides) {
  return {nullptr, DType::f32, shape, strides};
}

/// By place in y: where x is read. @param limit  of a part.
std::map<std::int64_t, std::int64_t> pairs_of(const KernelPlan& plan, std::int64_t limit) {
  std::map<std::int64_t, std::int64_t> pairs;
  for_narrow_parts(
      plan,
      [&](const KernelPlan& part, const FirstPlaces& first) {
        EXPECT_LE(part.numel, limit);
        const Places<2> places(part);
        for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(part.numel); ++i) {
          const Place<2> place = places(i);
          EXPECT_LE(std::abs(place.at[0]), limit);
          EXPECT_LE(std::abs(place.at[1]), limit);
          const bool is_new = pairs.emplace(first[0] + place.at[0], first[1] + place.at[1]).second;
          EXPECT_TRUE(is_new) << "twice: " << first[0] + place.at[0];
        }
      },
      limit);
  return pairs;
}

TEST(NarrowPlanTest, PartsWalkOverWhatTheWholeDoes) {
  const View y = view_of({5, 6, 7}, {42, 7, 1});
  for (const View& x : {view_of({5, 6, 7}, {42, 7, 1}),
                        view_of({5, 6, 7}, {0, 1, 100}),
                        view_of({5, 6, 7}, {1, 5, 30}),
                        view_of({5, 6, 7}, {-42, 7, -1})}) {
    const KernelPlan plan = make_kernel_plan({&y, &x});
    std::map<std::int64_t, std::int64_t> expected;
    for (int a = 0; a < 5; ++a)
      for (int b = 0; b < 6; ++b)
        for (int c = 0; c < 7; ++c)
          expected[a * 42 + b * 7 + c] = a * x.strides[0] + b * x.strides[1] + c * x.strides[2];
    EXPECT_EQ(pairs_of(plan, kNarrow), expected);
    EXPECT_EQ(pairs_of(plan, 50), expected);
    EXPECT_EQ(pairs_of(plan, 13), expected);
  }
}

TEST(NarrowPlanTest, AHugePlanIsCutAndASmallOneIsNot) {
  const std::int64_t n = std::int64_t{1} << 33;
  const View dense = view_of({n}, {1}), strided = view_of({4, 4}, {std::int64_t{1} << 31, 1});
  std::int64_t numel = 0;
  int parts = 0;
  const auto count = [&](const KernelPlan& part, const FirstPlaces& first) {
    EXPECT_EQ(first[0], numel);
    EXPECT_LE(part.numel, kNarrow);
    numel += part.numel;
    ++parts;
  };
  for_narrow_parts(make_kernel_plan({&dense}), count);
  EXPECT_EQ(numel, n);
  EXPECT_GE(parts, 5);
  std::vector<std::int64_t> begins;
  const auto note = [&](const KernelPlan&, const FirstPlaces& first) {
    begins.push_back(first[0]);
  };
  for_narrow_parts(make_kernel_plan({&strided}), note);
  EXPECT_THAT(begins,
              ::testing::ElementsAre(
                  0, std::int64_t{1} << 31, std::int64_t{2} << 31, std::int64_t{3} << 31));
  const View small = view_of({4, 4}, {4, 1});
  begins.clear();
  for_narrow_parts(make_kernel_plan({&small}), note);
  EXPECT_THAT(begins, ::testing::ElementsAre(0));
}

TEST(NarrowPlanTest, DenseIsOneRunOfEachOperand) {
  const View rows = view_of({4, 4}, {4, 1}), columns = view_of({4, 4}, {1, 4}),
             once = view_of({4, 4}, {0, 1}), gaps = view_of({4, 4}, {5, 1});
  EXPECT_TRUE(is_dense(make_kernel_plan({&rows, &rows}), 2));
  EXPECT_TRUE(is_dense(make_kernel_plan({&columns, &columns}), 2));
  EXPECT_FALSE(is_dense(make_kernel_plan({&rows, &columns}), 2));
  EXPECT_FALSE(is_dense(make_kernel_plan({&rows, &once}), 2));
  EXPECT_FALSE(is_dense(make_kernel_plan({&gaps}), 1));
}

}  // namespace
}  // namespace tandem::kernels
