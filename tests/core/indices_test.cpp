// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/core/indices.hpp"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>

namespace tandem {
namespace {

using ::testing::ElementsAre;

TEST(IndicesTest, CountFromZeroToBelowTheSize) {
  std::vector<std::size_t> seen;
  for (const std::size_t i : Indices(std::size_t{3}))
    seen.push_back(i);
  EXPECT_THAT(seen, ElementsAre(0, 1, 2));
}

TEST(IndicesTest, AreARangeForAlgorithms) {
  EXPECT_TRUE(std::ranges::any_of(Indices(5), [](int i) { return i == 4; }));
  EXPECT_FALSE(std::ranges::any_of(Indices(4), [](int i) { return i == 4; }));
  EXPECT_EQ(std::ranges::distance(Indices(0)), 0);
}

}  // namespace
}  // namespace tandem
