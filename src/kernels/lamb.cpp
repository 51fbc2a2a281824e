// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/lamb.hpp"

#include <array>

#include "kernels/lamb.inl"

namespace tandem::kernels {
namespace {

constexpr std::int64_t kMaxSums = 64;
constexpr std::int64_t kRun = 1024;  // elements whose moments are still in the cache for the norms
constexpr std::size_t kSumLanes = 16;

/// Sums in f64 of f(i) over [begin, end).
template <class F>
double sum_squares(std::int64_t begin, std::int64_t end, const F& f) {
  std::array<double, kSumLanes> lanes{};
  std::int64_t i = begin;
  for (; i + static_cast<std::int64_t>(kSumLanes) <= end;
       i += static_cast<std::int64_t>(kSumLanes)) {
    for (std::size_t j = 0; j < kSumLanes; ++j) {
      const auto x = static_cast<double>(f(i + static_cast<std::int64_t>(j)));
      lanes[j] += x * x;
    }
  }
  for (std::size_t j = 0; i < end; ++i, ++j) {
    const auto x = static_cast<double>(f(i));
    lanes[j] += x * x;
  }
  double total = 0;
  for (const double lane : lanes)
    total += lane;
  return total;
}

/// Moments of [begin, end), and the squares that they make.
template <class T>
LambSquares moments_and_squares(const Lamb<T>& step, std::int64_t begin, std::int64_t end) {
  LambSquares squares{0, 0};
  for (std::int64_t first = begin; first < end; first += kRun) {
    const std::int64_t last = std::min(end, first + kRun);
#pragma GCC ivdep
    for (std::int64_t i = first; i < last; ++i)
      step.moments(i);
    squares.param += sum_squares(first, last, [&](std::int64_t i) { return step.param[i]; });
    squares.direction +=
        sum_squares(first, last, [&](std::int64_t i) { return step.direction(i); });
  }
  return squares;
}

}  // namespace

void lamb(const HostStream& s,
          DType t,
          std::int64_t n,
          const LambNumbers& k,
          void* param,
          const void* grad,
          void* m,
          void* v) {
  with_float(t, [&]<class T>() {
    const Lamb<T> step = make_lamb<T>(k, param, grad, m, v);
    const std::int64_t parts = std::min(kMaxSums, tile_count(s, n, kGrain));
    std::array<LambSquares, kMaxSums> partial{};
    for_each_tile(s, parts, [&](std::int64_t p) {
      partial[static_cast<std::size_t>(p)] =
          moments_and_squares(step, n * p / parts, n * (p + 1) / parts);
    });
    LambSquares all{0, 0};
    for (const LambSquares& part : partial) {
      all.param += part.param;
      all.direction += part.direction;
    }
    const T trust = static_cast<T>(all.trust());
    for_each(s, n, [step, trust](std::int64_t i) { step.update(i, trust); });
  });
}

}  // namespace tandem::kernels
