// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/sum_ranks.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/sum_ranks.inl"

namespace tandem::kernels {
namespace {

/// Elements reduced at a time: the accumulators stay in the first cache while the ranks pass by.
constexpr std::int64_t kBlock = 1024;

template <class T, class F>
void combine(F f, const T* a, const T* b, compute_t<T>* __restrict y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = f(load(a[i]), load(b[i]));
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
  const auto at = [](const void* p, std::int64_t i) { return static_cast<const T*>(p) + i; };
  compute_t<T> sum[kBlock];
  for (std::int64_t i = begin; i < end; i += kBlock) {
    const std::int64_t n = std::min(kBlock, end - i);
    combine(f, at(sources[0], i), at(sources[1], i), sum, n);
    for (const void* source : sources.subspan(2)) {
      const T* x = at(source, i);
      for (std::int64_t k = 0; k < n; ++k)
        sum[k] = f(sum[k], load(x[k]));
    }
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
