// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/sum_ranks.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/sum_ranks.inl"

namespace tandem::kernels {
namespace {

/// Elements reduced at a time: the accumulators stay in the first cache while the ranks pass by,
/// and where these are few, what is read of them does too.
constexpr std::int64_t kBlock = 4096, kBlockOfFew = 1024;
/// Ranks from which on they are taken several at a time: of fewer, a processor foresees all reads.
constexpr std::size_t kMany = 8;
/// Ranks whose elements are taken in one pass over the accumulators.
constexpr std::size_t kRanksAtATime = 4;
constexpr std::int64_t kLineBytes = 64;

/// Elements of one source in a block.
template <class T>
const T* elements_of(std::span<const void* const> sources, std::size_t rank, std::int64_t begin) {
  return static_cast<const T*>(sources[rank]) + begin;
}

/// y = f(y, x[0], x[1], ...), from the left.
template <class T, class F, std::size_t... R>
void take_ranks(F f,
                const std::array<const T*, sizeof...(R)>& x,
                compute_t<T>* __restrict y,
                std::int64_t n,
                std::index_sequence<R...>) {
  for (std::int64_t i = 0; i < n; ++i) {
    compute_t<T> sum = y[i];
    ((sum = f(sum, load(x[R][i]))), ...);
    y[i] = sum;
  }
}

/// Has the ranks from `first` on brought to a cache: a processor foresees no step from rank to
/// rank.
template <class T>
void bring(std::span<const void* const> sources,
           std::size_t first,
           std::int64_t begin,
           std::int64_t n) {
  constexpr auto kLine = kLineBytes / static_cast<std::int64_t>(sizeof(T));
  for (std::size_t r = first; r < std::min(first + kRanksAtATime, sources.size()); ++r)
    for (std::int64_t i = 0; i < n; i += kLine)
      __builtin_prefetch(elements_of<T>(sources, r, begin) + i, 0, 2);
}

/// The reduction of a block, in the order of the ranks.
template <class T, class F>
void reduce_ranks(F f,
                  std::span<const void* const> sources,
                  std::int64_t begin,
                  compute_t<T>* __restrict sum,
                  std::int64_t n) {
  const T* const a = elements_of<T>(sources, 0, begin);
  const T* const b = elements_of<T>(sources, 1, begin);
  for (std::int64_t i = 0; i < n; ++i)
    sum[i] = f(load(a[i]), load(b[i]));
  std::size_t r = 2;
  for (; sources.size() >= kMany && r + kRanksAtATime <= sources.size(); r += kRanksAtATime) {
    bring<T>(sources, r + kRanksAtATime, begin, n);
    std::array<const T*, kRanksAtATime> x;
    for (std::size_t k = 0; k < kRanksAtATime; ++k)
      x[k] = elements_of<T>(sources, r + k, begin);
    take_ranks<T>(f, x, sum, n, std::make_index_sequence<kRanksAtATime>());
  }
  for (; r < sources.size(); ++r)
    take_ranks<T>(
        f, std::array{elements_of<T>(sources, r, begin)}, sum, n, std::make_index_sequence<1>());
}

template <class T>
void scale(const T* x, compute_t<T> factor, compute_t<T>* __restrict y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = factor * load(x[i]);
}

template <class T>
void add_scaled(const T* x, compute_t<T> factor, compute_t<T>* __restrict y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    y[i] += factor * load(x[i]);
}

template <class T>
void divide(T* y, T divisor, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    y[i] /= divisor;
}

/// The sum of `n` elements of a block, as the targets hold them.
template <class T>
void store_block(const compute_t<T>* sum, T* y, std::int64_t n) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    std::memcpy(y, sum, static_cast<std::size_t>(n) * sizeof(T));
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      y[i] = store<T>(sum[i]);
  }
}

template <class T, class F>
void reduce(F f,
            bool average,
            std::span<const void* const> sources,
            std::span<void* const> targets,
            std::int64_t begin,
            std::int64_t end) {
  compute_t<T> sum[kBlock];
  const std::int64_t block = sources.size() < kMany ? kBlockOfFew : kBlock;
  for (std::int64_t i = begin; i < end; i += block) {
    const std::int64_t n = std::min(block, end - i);
    reduce_ranks<T>(f, sources, i, sum, n);
    if constexpr (is_float_v<T>) {
      if (average) divide(sum, static_cast<compute_t<T>>(sources.size()), n);
    }
    for (void* target : targets)
      store_block(sum, static_cast<T*>(target) + i, n);
  }
}

/// As reduce, of factors[r] * sources[r].
template <class T>
void reduce_scaled(std::span<const double> factors,
                   std::span<const void* const> sources,
                   std::span<void* const> targets,
                   std::int64_t begin,
                   std::int64_t end) {
  const auto factor = [&](std::size_t r) { return static_cast<compute_t<T>>(factors[r]); };
  const auto source = [&](std::size_t r) { return static_cast<const T*>(sources[r]); };
  compute_t<T> sum[kBlock];
  for (std::int64_t i = begin; i < end; i += kBlock) {
    const std::int64_t n = std::min(kBlock, end - i);
    scale(source(0) + i, factor(0), sum, n);
    for (std::size_t r = 1; r < sources.size(); ++r)
      add_scaled(source(r) + i, factor(r), sum, n);
    for (void* target : targets)
      store_block(sum, static_cast<T*>(target) + i, n);
  }
}

void copy(DType dtype,
          const void* source,
          std::span<void* const> targets,
          std::int64_t begin,
          std::int64_t end) {
  const std::size_t size = itemsize(dtype);
  const std::size_t offset = static_cast<std::size_t>(begin) * size;
  for (void* target : targets) {
    if (target == source) continue;
    std::memcpy(static_cast<char*>(target) + offset,
                static_cast<const char*>(source) + offset,
                static_cast<std::size_t>(end - begin) * size);
  }
}

}  // namespace

void sum_ranks(Reduction reduction,
               DType dtype,
               std::span<const void* const> sources,
               std::span<void* const> targets,
               std::int64_t begin,
               std::int64_t end,
               std::span<const double> factors) {
  if (reduction == Reduction::premul_sum) {
    return with_any_float(
        dtype, [&]<class T>() { reduce_scaled<T>(factors, sources, targets, begin, end); });
  }
  if (sources.size() == 1) return copy(dtype, sources[0], targets, begin, end);
  const bool average = reduction == Reduction::avg;
  with_dtype(dtype, [&]<class T>() {
    with_reduction<T>(reduction,
                      [&](auto f) { reduce<T>(f, average, sources, targets, begin, end); });
  });
}

}  // namespace tandem::kernels
