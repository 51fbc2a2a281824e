// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/sum_ranks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/core/dtype.hpp"

#include "kernels/element.hpp"

// A reduction over ranks has the bits of a loop over them, in their order, wherever blocks and
// groups of ranks end.
namespace tandem::kernels {
namespace {

template <class T>
std::vector<std::vector<T>> random_ranks(std::size_t ranks, std::int64_t n) {
  std::mt19937_64 random(ranks * 7919 + static_cast<std::size_t>(n));
  std::uniform_real_distribution<double> numbers(-100, 100);
  std::vector<std::vector<T>> all(ranks);
  for (std::vector<T>& rank : all)
    for (std::int64_t i = 0; i < n; ++i)
      rank.push_back(store<T>(static_cast<compute_t<T>>(numbers(random))));
  return all;
}

template <class T>
compute_t<T> of_pair(Reduction reduction, compute_t<T> a, compute_t<T> b) {
  if (reduction == Reduction::min) return std::min(a, b);
  if (reduction == Reduction::max) return std::max(a, b);
  return static_cast<compute_t<T>>(a + b);
}

/// Reduces elements [begin, end) of all ranks into two targets, one of which is a source, and
/// compares the bits with those of a loop; the rest of the targets stays as it was.
template <class T>
void expect_rank_order(DType dtype, Reduction reduction, std::size_t ranks, std::int64_t n) {
  const std::int64_t begin = std::min<std::int64_t>(3, n),
                     end = n - std::min<std::int64_t>(1, n / 2);
  auto sources = random_ranks<T>(ranks, n);
  const auto before = sources;
  std::vector<T> other(static_cast<std::size_t>(n), T(1));
  std::vector<const void*> from;
  for (const std::vector<T>& source : sources)
    from.push_back(source.data());
  std::vector<T>& own = sources.back();
  const std::vector<void*> to{other.data(), own.data()};
  sum_ranks(reduction, dtype, from, to, begin, end);
  for (std::int64_t k = 0; k < n; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const bool is_inside = k >= begin && k < end;
    compute_t<T> sum = load(before[0][i]);
    for (std::size_t r = 1; r < ranks; ++r)
      sum = of_pair<T>(reduction, sum, load(before[r][i]));
    if (reduction == Reduction::avg) sum /= static_cast<compute_t<T>>(ranks);
    const T expected = store<T>(sum);
    const T left = is_inside ? expected : T(1), right = is_inside ? expected : before.back()[i];
    ASSERT_EQ(std::memcmp(&other[i], &left, sizeof(T)), 0) << ranks << " ranks, element " << k;
    ASSERT_EQ(std::memcmp(&own[i], &right, sizeof(T)), 0) << ranks << " ranks, element " << k;
  }
}

template <class T>
void expect_rank_order(DType dtype, std::initializer_list<Reduction> reductions) {
  for (const Reduction reduction : reductions)
    for (const std::size_t ranks : {2, 3, 4, 5, 6, 8, 9, 10, 64})
      for (const std::int64_t n : {0, 1, 17, 4096, 4100, 9001})
        expect_rank_order<T>(dtype, reduction, ranks, n);
}

TEST(SumRanksTest, FloatsAreAddedInTheOrderOfRanks) {
  using enum Reduction;
  expect_rank_order<float>(DType::f32, {sum, avg, min, max});
  expect_rank_order<double>(DType::f64, {sum, avg});
}

TEST(SumRanksTest, TypesOf16BitsAreAddedInF32AndRoundedOnce) {
  expect_rank_order<BFloat16>(DType::bf16, {Reduction::sum, Reduction::avg});
  expect_rank_order<Half>(DType::f16, {Reduction::sum});
}

TEST(SumRanksTest, IntegersHaveNoOrder) {
  expect_rank_order<std::int32_t>(DType::i32, {Reduction::sum, Reduction::max});
  expect_rank_order<std::int64_t>(DType::i64, {Reduction::sum, Reduction::min});
}

}  // namespace
}  // namespace tandem::kernels
