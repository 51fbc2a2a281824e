// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tandem/runtime/buffer.hpp"  // .cu files count on it
#include "tandem/runtime/stream.hpp"

#include "kernels/for_each.hpp"
#include "stand_in/control.hpp"

// The twin of the header of this name in src: queues loops of the host, so that the functors of
// kernels run in the order of the stand-in's streams.
namespace tandem::kernels {

/// Calls `f(i)` for i in [0, n), from the last one to the first: kernels may not count on an order.
template <class F>
void for_each(const CudaStream& s, std::int64_t n, F f) {
  static_assert(std::is_trivially_copyable_v<F>, "a kernel takes its functor's bytes");
  if (n <= 0) return;
  stand_in::launch(s.native, [f, n]() mutable {
    for (std::int64_t i = n; i-- > 0;)
      f(i);
  });
}

/// Which elements of a reduction are neighbours in memory.
enum class Walk : std::uint8_t {
  along,   ///< those of one output
  across,  ///< those of neighbouring outputs
};

/// For each output o in [0, outputs): op.store(o, the join of op.at(o, i) for i in [0, depth)).
///
/// `Op` is copied, and has `Total total()` (of nothing), `Total at(o, i)`, `Total join(Total,
/// Total)`, associative and commutative but for rounding, and `void store(o, Total)`.
template <class Op>
void reduce_each(
    const CudaStream& s, std::int64_t outputs, std::int64_t depth, Walk, const Op& op) {
  constexpr std::int64_t kRun = 256;  // reduced by themselves, so that sums round less
  for_each(s, outputs, [op, depth](std::int64_t output) {
    auto total = op.total();
    for (std::int64_t begin = 0; begin < depth; begin += kRun) {
      auto run = op.total();
      for (std::int64_t i = begin; i < std::min(depth, begin + kRun); ++i)
        run = op.join(run, op.at(output, i));
      total = op.join(total, run);
    }
    op.store(output, total);
  });
}

}  // namespace tandem::kernels
