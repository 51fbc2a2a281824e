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

TEST(Sort, ExtremaPropagateNan) {
  const Tensor x = tensor({1.0, kNan, 5.0, -2.0});
  EXPECT_EQ(max(x, 0).indices.item(), 1);
  EXPECT_TRUE(std::isnan(min(x, 0).values.item()));
  EXPECT_EQ(argmin(x, 0).item(), 1);
}

TEST(Sort, TakesTheFirstOfEqualsAndItsGradientAlone) {
  const Tensor x = tensor({2.0, 3.0, 3.0}).requires_grad_();
  const auto [values, indices] = max(x, 0);
  values.backward();
  EXPECT_EQ(indices.item(), 1);
  EXPECT_THAT(x.grad().to_doubles(), ElementsAre(0, 1, 0));
  EXPECT_FALSE(indices.requires_grad());
  EXPECT_EQ(min(tensor({3.0, 2.0, 2.0}), 0, KeepDims::yes).indices.shape(), Shape({1}));
}

TEST(Sort, WorksOnIntegersAndBool) {
  EXPECT_THAT(sort(tensor<std::int64_t>({3, 1, 2})).values.to_host<std::int64_t>(),
              ElementsAre(1, 2, 3));
  EXPECT_EQ(max(tensor<std::int64_t>({0, 1, 0}).to(DType::boolean), 0).indices.item(), 1);
}

TEST(Sort, RefusesWhatIsNotThere) {
  EXPECT_THAT(thrown_text([] {
                topk(ones({2, 3}), 4);
              }),
              HasSubstr("topk: k is 4, but dimension 1 of (2, 3) has 3"));
  EXPECT_THAT(thrown_text([] {
                max(ones({2, 0}), 1);
              }),
              HasSubstr("max: there is nothing to choose from in (2, 0)"));
  EXPECT_EQ(max(ones({0, 2}), 1).values.shape(), Shape({0}));
  EXPECT_EQ(sort(ones({2, 0})).values.shape(), Shape({2, 0}));
}

class CumsumTest : public ::testing::TestWithParam<int> {};

TEST_P(CumsumTest, IsALoopsSums) {
  const ContextScope scope([](Context& c) { c.threads = GetParam(); });
  for (const Shape& shape : {Shape{3, 5000}, Shape{5000, 3}, Shape{7, 40, 600}, Shape{1}}) {
    for (int dim = 0; dim < shape.size(); ++dim) {
      const Tensor x = randint(-9, 9, shape).to(DType::f32);
      const Tensor lines = x.transpose(dim, -1).contiguous().reshape({-1, shape[dim]});
      std::vector<double> expected = lines.to_doubles();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (static_cast<std::int64_t>(i) % shape[dim] != 0) expected[i] += expected[i - 1];
      }
      const Tensor y = cumsum(x, dim).transpose(dim, -1).contiguous();
      EXPECT_EQ(y.to_doubles(), expected) << shape << " along " << dim;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, CumsumTest, ::testing::Values(1, 3));

TEST(Cumsum, OfNothingIsNothing) {
  EXPECT_EQ(cumsum(ones({0, 3}), 0).shape(), Shape({0, 3}));
}

TEST(LogSumExp, HoldsWhereExpWouldNot) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_DOUBLE_EQ(logsumexp(tensor({1000.0, 1000.0}), {0}).item(), 1000 + std::log(2.0));
  const Tensor x = tensor({-inf, -inf}).requires_grad_();
  const Tensor y = logsumexp(x, {0});
  y.backward();
  EXPECT_EQ(y.item(), -inf);
  EXPECT_THAT(x.grad().to_doubles(), ElementsAre(0, 0));
}

}  // namespace
}  // namespace tandem
