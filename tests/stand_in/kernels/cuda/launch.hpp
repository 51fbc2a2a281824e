// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "tandem/runtime/buffer.hpp"  // .cu files count on it
#include "tandem/runtime/stream.hpp"

#include "kernels/cuda/reduce_range.hpp"
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

/// For each output o in [0, outputs): op.store(o, total of its elements i in [0, depth)).
///
/// `Op` is as the header of this name in src wants it.
template <class Op>
void reduce_each(
    const CudaStream& s, std::int64_t outputs, std::int64_t depth, Walk, const Op& op) {
  for_each(s, outputs, [op, depth](std::int64_t output) {
    op.store(output, reduce_range(op, output, 0, depth, 1));
  });
}

}  // namespace tandem::kernels
