// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/sort.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

const double kNan = std::nan("");

/// The indices of `values` in order; equal ones stay.
std::vector<std::int64_t> stable_order(const std::vector<double>& values, bool descending) {
  std::vector<std::int64_t> index(values.size());
  std::iota(index.begin(), index.end(), 0);
  std::stable_sort(index.begin(), index.end(), [&](std::int64_t a, std::int64_t b) {
    const double x = values[static_cast<std::size_t>(a)], y = values[static_cast<std::size_t>(b)];
    return descending ? x > y : x < y;
  });
  return index;
}

struct SortCase {
  std::int64_t lines, n, k;
  int threads;
};

class SortTest : public ::testing::TestWithParam<SortCase> {};

TEST_P(SortTest, IsTheStableOrderOfALoop) {
  const auto& [lines, n, k, threads] = GetParam();
  const ContextScope scope([threads = threads](Context& c) { c.threads = threads; });
  manual_seed(4);
  for (const bool descending : {true, false}) {
    const Tensor x = randint(0, 50, {n, lines}).t();
    const auto [values, indices] = topk(x, k, 1, descending ? Order::descending : Order::ascending);
    const std::vector<std::int64_t> found = indices.to_host<std::int64_t>();
    for (std::int64_t line = 0; line < lines; ++line) {
      const std::vector<double> row = x.select(0, line).to_doubles();
      const auto order = stable_order(row, descending);
      for (std::int64_t i = 0; i < k; ++i) {
        ASSERT_EQ(found[static_cast<std::size_t>(line * k + i)], order[static_cast<std::size_t>(i)])
            << "line " << line << " place " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes,
                         SortTest,
                         ::testing::Values(SortCase{1, 1, 1, 1},
                                           SortCase{3, 13, 5, 1},
                                           SortCase{2, 100, 16, 2},
                                           SortCase{5, 100, 17, 2},
                                           SortCase{3, 129, 129, 3},
                                           SortCase{1000, 33, 4, 3},
                                           SortCase{2, 5003, 700, 2}));

TEST(Sort, ANanIsLargerThanAnyNumber) {
  const Tensor x = tensor({1.0, kNan, std::numeric_limits<double>::infinity(), -2.0});
  EXPECT_THAT(argsort(x).to_host<std::int64_t>(), ElementsAre(3, 0, 2, 1));
  EXPECT_THAT(topk(x, 2).indices.to_host<std::int64_t>(), ElementsAre(1, 2));
  EXPECT_THAT(topk(x, 2, 0, Order::ascending).indices.to_host<std::int64_t>(), ElementsAre(3, 0));
}

TEST(Sort, WorksOnIntegersAndBool) {
  EXPECT_THAT(sort(tensor<std::int64_t>({3, 1, 2})).values.to_host<std::int64_t>(),
              ElementsAre(1, 2, 3));
  EXPECT_EQ(argsort(tensor<std::int64_t>({0, 1, 0}).to(DType::boolean)).to_host<std::int64_t>()[2],
            1);
}

TEST(Sort, RefusesWhatIsNotThere) {
  EXPECT_THAT(thrown_text([] {
                topk(ones({2, 3}), 4);
              }),
              HasSubstr("topk: k is 4, but dimension 1 of (2, 3) has 3"));
  EXPECT_EQ(sort(ones({2, 0})).values.shape(), Shape({2, 0}));
}

}  // namespace
}  // namespace tandem
