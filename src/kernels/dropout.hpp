// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

// The numbers are those of kernels/random.hpp, which depend on no thread or device.
namespace tandem::kernels {

/// What a dropout mask is a function of, beside row and place in the row.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t forward = 0;    ///< count of top-level forwards
  std::uint64_t path_hash = 0;  ///< module path and call index
  std::int64_t first_row = 0;   ///< global row of x's first
};

/// y = x / (1 - p) where mask, else 0. The mask is drawn here, independent of layout.
///
/// @param mask  bool, of x's shape; any strides, as x (f32 or f64) and y.
void dropout(const HostStream& s,
             double p,
             const DropoutKey& key,
             int row_dim,
             const View& x,
             const View& y,
             const View& mask);
void dropout(const CudaStream& s,
             double p,
             const DropoutKey& key,
             int row_dim,
             const View& x,
             const View& y,
             const View& mask);

}  // namespace tandem::kernels
