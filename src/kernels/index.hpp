// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

// Indices are i64 and inside of their range: ops look for bad ones first (find_outside).
namespace tandem::kernels {

/// found (i64 scalar) = row-major position of the first entry of `index` that is outside of
/// [low, high) and not `ignored`; -1 where there is none.
void find_outside(const HostStream& s,
                  const View& index,
                  std::int64_t low,
                  std::int64_t high,
                  std::int64_t ignored,
                  const View& found);
void find_outside(const CudaStream& s,
                  const View& index,
                  std::int64_t low,
                  std::int64_t high,
                  std::int64_t ignored,
                  const View& found);

/// y[..., i, ...] = x[..., index[..., i, ...], ...] along `dim`. @param index  of y's shape.
void gather(const HostStream& s, int dim, const View& x, const View& index, const View& y);
void gather(const CudaStream& s, int dim, const View& x, const View& index, const View& y);

/// y[..., index[..., i, ...], ...] += x[..., i, ...] along `dim`, in the order of x's elements.
///
/// @param index  of x's shape, which lies within y's but for `dim`.
void scatter_add(const HostStream& s, int dim, const View& x, const View& index, const View& y);
void scatter_add(const CudaStream& s, int dim, const View& x, const View& index, const View& y);

}  // namespace tandem::kernels
