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

}  // namespace

void sum_ranks(const CudaStream& s,
               Reduction reduction,
               DType dtype,
               std::span<const void* const> sources,
               std::span<void* const> targets,
               std::int64_t begin,
               std::int64_t end) {
  const Ends ends(sources, targets);
  with_dtype(dtype, [&]<class T>() {
    using Number = compute_t<T>;
    const auto run = [&](auto f, Number divisor) {
      for_each(s, end - begin, SumElement<T, decltype(f)>{f, ends, divisor, begin});
    };
    switch (reduction) {
      case Reduction::sum:
        return run(Sum<Number>{}, Number(1));
      case Reduction::avg:
        return run(Sum<Number>{}, static_cast<Number>(sources.size()));
      case Reduction::min:
        return run(Min<Number>{}, Number(1));
      case Reduction::max:
        return run(Max<Number>{}, Number(1));
    }
  });
}

}  // namespace tandem::kernels
