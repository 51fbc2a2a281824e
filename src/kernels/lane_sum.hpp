// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

// Sums of a dense run on the host, many side by side: the loops run as vectors, and round less than
// one sum would.
namespace tandem::kernels {

inline constexpr std::size_t kSums = 32;

/// n rounded up to a multiple of them.
constexpr std::int64_t whole_lanes(std::int64_t n) {
  constexpr auto kStep = static_cast<std::int64_t>(kSums);
  return (n + kStep - 1) / kStep * kStep;
}

template <class A>
A join_sums(std::array<A, kSums>& sums) {
  for (std::size_t width = kSums / 2; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j)
      sums[j] += sums[j + width];
  }
  return sums[0];
}

/// The sum of f(i) for i in [0, n).
template <class A, class F>
A lane_sum(std::int64_t n, F f) {
  constexpr auto kStep = static_cast<std::int64_t>(kSums);
  std::array<A, kSums> sums{};
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    for (std::size_t j = 0; j < kSums; ++j)
      sums[j] += f(i + static_cast<std::int64_t>(j));
  }
  for (std::size_t j = 0; i < n; ++i, ++j)
    sums[j] += f(i);
  return join_sums(sums);
}

/// The sums of both halves of the pair f(i).
template <class A, class F>
std::pair<A, A> lane_sums(std::int64_t n, F f) {
  constexpr auto kStep = static_cast<std::int64_t>(kSums);
  std::array<A, kSums> first{}, second{};
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    for (std::size_t j = 0; j < kSums; ++j) {
      const std::pair<A, A> v = f(i + static_cast<std::int64_t>(j));
      first[j] += v.first;
      second[j] += v.second;
    }
  }
  for (std::size_t j = 0; i < n; ++i, ++j) {
    const std::pair<A, A> v = f(i);
    first[j] += v.first;
    second[j] += v.second;
  }
  return {join_sums(first), join_sums(second)};
}

/// The largest of x[0, n), a NaN where there is one; minus infinity of nothing.
template <class T>
T lane_max(std::int64_t n, const T* x) {
  constexpr auto kStep = static_cast<std::int64_t>(kSums);
  std::array<T, kSums> most;
  most.fill(-std::numeric_limits<T>::infinity());
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    for (std::size_t j = 0; j < kSums; ++j) {
      const T v = x[i + static_cast<std::int64_t>(j)];
      most[j] = v > most[j] || v != v ? v : most[j];
    }
  }
  for (std::size_t j = 0; i < n; ++i, ++j)
    most[j] = x[i] > most[j] || x[i] != x[i] ? x[i] : most[j];
  for (std::size_t width = kSums / 2; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) {
      const T v = most[j + width];
      most[j] = v > most[j] || v != v ? v : most[j];
    }
  }
  return most[0];
}

}  // namespace tandem::kernels
