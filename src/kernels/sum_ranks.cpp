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
               std::int64_t end) {
  if (sources.size() == 1) return copy(dtype, sources[0], targets, begin, end);
  with_dtype(dtype, [&]<class T>() {
    const bool average = reduction == Reduction::avg;
    switch (reduction) {
      case Reduction::sum:
      case Reduction::avg:
        return reduce<T>(Sum<compute_t<T>>{}, average, sources, targets, begin, end);
      case Reduction::min:
        return reduce<T>(Min<compute_t<T>>{}, average, sources, targets, begin, end);
      case Reduction::max:
        return reduce<T>(Max<compute_t<T>>{}, average, sources, targets, begin, end);
    }
  });
}

}  // namespace tandem::kernels
