// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// What scans of both backends walk over: lines along a dimension, from either end.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cumsum.hpp"
#include "kernels/map.hpp"

namespace tandem::kernels {

/// What the elements of a type are added up in.
template <class T>
using Total = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;

struct ScanLines {
  KernelPlan plan;  ///< over the starts of lines: y, x
  std::int64_t depth;
  std::int64_t x_first, y_first;  ///< of a line, from its start
  std::int64_t x_step, y_step;

  /// @param x, y  of one shape, not empty.
  ScanLines(CumsumFrom from, int dim, const View& x, const View& y)
      : depth(x.shape[dim]), x_step(x.strides[dim]), y_step(y.strides[dim]) {
    const View vy = without_dim(y, dim), vx = without_dim(x, dim);
    plan = make_kernel_plan({&vy, &vx});
    const bool back = from == CumsumFrom::last;
    x_first = back ? (depth - 1) * x_step : 0;
    y_first = back ? (depth - 1) * y_step : 0;
    if (!back) return;
    x_step = -x_step;
    y_step = -y_step;
  }
};

/// Calls f.operator()<T>() with the type of `t`.
template <class F>
void with_scan(DType t, const F& f) {
  if (t == DType::i64) return f.template operator()<std::int64_t>();
  with_float(t, f);
}

}  // namespace tandem::kernels
