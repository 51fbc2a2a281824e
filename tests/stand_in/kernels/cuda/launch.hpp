// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

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

namespace detail {

inline constexpr int kLanes = 32;

/// The total of an output, as a warp makes it: each lane has every 32nd element, or none, and then
/// lanes join.
template <class Op>
typename Op::Total reduce_by_lanes(const Op& op, std::int64_t output, std::int64_t depth) {
  std::vector<typename Op::Total> totals;
  for (int lane = 0; lane < kLanes; ++lane)
    totals.push_back(reduce_range(op, output, lane, depth, kLanes));
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane)
      totals[lane] = op.join(totals[lane], totals[lane + width]);
  }
  return totals[0];
}

}  // namespace detail

/// For each output o in [0, outputs): op.store(o, total of its elements i in [0, depth)).
///
/// `Op` is as the header of this name in src wants it.
template <class Op>
void reduce_each(
    const CudaStream& s, std::int64_t outputs, std::int64_t depth, Walk, const Op& op) {
  for_each(s, outputs, [op, depth](std::int64_t output) {
    op.store(output,
             depth <= kSerialDepth ? reduce_range(op, output, 0, depth, 1)
                                   : detail::reduce_by_lanes(op, output, depth));
  });
}

/// For each line l in [0, lines): reduces its elements i in [0, length), and then puts each of
/// them.
///
/// `Op` is as the header of this name in src wants it.
template <class Op>
void each_line(const CudaStream& s, std::int64_t lines, std::int64_t length, const Op& op) {
  if (length <= kSerialDepth) return for_each(s, lines, LineSerial<Op>{op, length});
  for_each(s, lines, [op, length](std::int64_t line) {
    const typename Op::Line of = op.finish(line, detail::reduce_by_lanes(op, line, length));
    for (int lane = detail::kLanes; lane-- > 0;)
      put_range(op.each(line, of), lane, length, detail::kLanes);
  });
}

}  // namespace tandem::kernels
