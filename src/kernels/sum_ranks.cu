// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/pack.hpp"
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

  /// The first element from `begin` on at which packs begin in all ranks; -1: there is none.
  template <class T, int kWidth>
  std::int64_t first_pack(std::int64_t begin) const {
    const auto starts = [&](std::int64_t at) {
      const auto own = [at](const void* p) {
        return is_packed<kWidth>(static_cast<const T*>(p) + at);
      };
      return std::all_of(sources, sources + source_count, own) &&
             std::all_of(targets, targets + target_count, own);
    };
    for (std::int64_t at = begin; at < begin + kWidth; ++at)
      if (starts(at)) return at;
    return -1;
  }
};

template <class T>
TANDEM_HD const T* source(const Ends& ends, int rank) {
  return static_cast<const T*>(ends.sources[rank]);
}

/// What becomes of the ranks' elements, one after the other.
template <class T, class F>
struct Joined {
  F f;
  compute_t<T> divisor;  // 1: none

  TANDEM_HD compute_t<T> first(compute_t<T> x) const { return x; }
  TANDEM_HD compute_t<T> join(compute_t<T> value, compute_t<T> x, int) const { return f(value, x); }
  TANDEM_HD compute_t<T> last(compute_t<T> value) const {
    if constexpr (is_float_v<T>) value /= divisor;
    return value;
  }
};

/// The same where each rank has a factor, by value.
template <class T>
struct Scaled {
  compute_t<T> factors[kMaxDevices];

  explicit Scaled(std::span<const double> values) {
    std::transform(values.begin(), values.end(), factors, [](double f) { return compute_t<T>(f); });
  }
  TANDEM_HD compute_t<T> first(compute_t<T> x) const { return compute_t<T>(0) + factors[0] * x; }
  TANDEM_HD compute_t<T> join(compute_t<T> value, compute_t<T> x, int rank) const {
    return value + factors[rank] * x;
  }
  TANDEM_HD compute_t<T> last(compute_t<T> value) const { return value; }
};

/// Pack `i` of the ranks' elements. Packs read and write what is in other GPUs by whole
/// transactions.
template <class T, class How, int kWidth>
struct SumPack {
  How how;
  Ends ends;
  std::int64_t begin;

  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t at = begin + i * kWidth;
    compute_t<T> values[kWidth];
    const Pack<T, kWidth> own = pack_at<kWidth>(source<T>(ends, 0) + at);
    for (int k = 0; k < kWidth; ++k)
      values[k] = how.first(load(own.elements[k]));
    for (int r = 1; r < ends.source_count; ++r) {
      const Pack<T, kWidth> other = pack_at<kWidth>(source<T>(ends, r) + at);
      for (int k = 0; k < kWidth; ++k)
        values[k] = how.join(values[k], load(other.elements[k]), r);
    }
    Pack<T, kWidth> made;
    for (int k = 0; k < kWidth; ++k)
      made.elements[k] = store<T>(how.last(values[k]));
    for (int r = 0; r < ends.target_count; ++r)
      pack_at<kWidth>(static_cast<T*>(ends.targets[r]) + at) = made;
  }
};

/// Packs from where all ranks may be read by them, and single elements before and behind.
template <class T, class How>
void sum_range(
    const CudaStream& s, const How& how, const Ends& ends, std::int64_t begin, std::int64_t end) {
  constexpr int kWidth = pack_width<T>;
  const auto single = [&](std::int64_t from, std::int64_t to) {
    for_each(s, to - from, SumPack<T, How, 1>{how, ends, from});
  };
  const std::int64_t first = ends.first_pack<T, kWidth>(begin);
  const std::int64_t packs = first < 0 ? 0 : (end - first) / kWidth;
  if (packs <= 0) return single(begin, end);
  single(begin, first);
  for_each(s, packs, SumPack<T, How, kWidth>{how, ends, first});
  single(first + packs * kWidth, end);
}

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
    return with_any_float(
        dtype, [&]<class T>() { sum_range<T>(s, Scaled<T>(factors), ends, begin, end); });
  }
  with_dtype(dtype, [&]<class T>() {
    using Number = compute_t<T>;
    const Number divisor =
        reduction == Reduction::avg ? static_cast<Number>(sources.size()) : Number(1);
    with_reduction<T>(reduction, [&](auto f) {
      sum_range<T>(s, Joined<T, decltype(f)>{f, divisor}, ends, begin, end);
    });
  });
}

}  // namespace tandem::kernels
