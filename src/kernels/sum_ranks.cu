// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "kernels/cuda/launch.hpp"
#include "kernels/sum_ranks.hpp"
#include "kernels/sum_ranks.inl"

namespace tandem::kernels {
namespace {

/// Memory of the ranks, by value: a kernel gets it with its arguments.
struct Ends {
  const void* sources[kMaxDevices];
  void* targets[kMaxDevices];
  int source_count;
  int target_count;

  Ends(std::span<const void* const> from, std::span<void* const> to)
      : source_count(static_cast<int>(from.size())), target_count(static_cast<int>(to.size())) {
    TANDEM_ASSERT(from.size() <= kMaxDevices && to.size() <= kMaxDevices, "too many ranks");
    std::copy(from.begin(), from.end(), sources);
    std::copy(to.begin(), to.end(), targets);
  }
};

template <class T, class F>
struct SumElement {
  F f;
  Ends ends;
  compute_t<T> divisor;  // 1: none
  std::int64_t begin;

  TANDEM_HD void operator()(std::int64_t i) const {
    i += begin;
    compute_t<T> value = load(source(0)[i]);
    for (int r = 1; r < ends.source_count; ++r)
      value = f(value, load(source(r)[i]));
    if constexpr (is_float_v<T>) value /= divisor;
    for (int r = 0; r < ends.target_count; ++r)
      static_cast<T*>(ends.targets[r])[i] = store<T>(value);
  }

 private:
  TANDEM_HD const T* source(int rank) const { return static_cast<const T*>(ends.sources[rank]); }
};

/// Factors of the ranks, by value.
template <class Number>
struct Factors {
  Number values[kMaxDevices];

  explicit Factors(std::span<const double> factors) {
    std::transform(factors.begin(), factors.end(), values, [](double f) { return Number(f); });
  }
};

template <class T>
struct SumScaledElement {
  Ends ends;
  Factors<compute_t<T>> factors;
  std::int64_t begin;

  TANDEM_HD void operator()(std::int64_t i) const {
    i += begin;
    compute_t<T> value = 0;
    for (int r = 0; r < ends.source_count; ++r)
      value += factors.values[r] * load(static_cast<const T*>(ends.sources[r])[i]);
    for (int r = 0; r < ends.target_count; ++r)
      static_cast<T*>(ends.targets[r])[i] = store<T>(value);
  }
};

}  // namespace

void sum_ranks(const CudaStream& s,
               Reduction reduction,
               DType dtype,
               std::span<const void* const> sources,
               std::span<void* const> targets,
               std::int64_t begin,
               std::int64_t end,
               std::span<const double> factors) {
  const Ends ends(sources, targets);
  if (reduction == Reduction::premul_sum) {
    TANDEM_ASSERT(factors.size() == sources.size(), "a factor for each source");
    return with_any_float(dtype, [&]<class T>() {
      const Factors<compute_t<T>> values(factors);
      for_each(s, end - begin, SumScaledElement<T>{ends, values, begin});
    });
  }
  with_dtype(dtype, [&]<class T>() {
    using Number = compute_t<T>;
    const Number divisor =
        reduction == Reduction::avg ? static_cast<Number>(sources.size()) : Number(1);
    with_reduction<T>(reduction, [&](auto f) {
      for_each(s, end - begin, SumElement<T, decltype(f)>{f, ends, divisor, begin});
    });
  });
}

}  // namespace tandem::kernels
