// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/gemm.hpp"
#include "kernels/vector.hpp"

namespace tandem::kernels {

/// A matrix that need not be there: element (i, k) is data[row[i] + column[k]].
template <class T>
struct IndexedOperand {
  const T* data = nullptr;
  const std::int64_t* row = nullptr;
  const std::int64_t* column = nullptr;
};

/// A matrix of row-major rows, `ld` apart; 0: the same row again and again.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t ld = 0;
};

/// c = a @ b + start, on the calling thread, without packing: for b of a size that stays in the
/// cache.
///
/// An element of c is summed in the order of k, so it has the same bits whatever m and n.
/// @param size   n is a multiple of kLanes.
/// @param start  null data: zero; may be c.
template <class T>
void indexed_gemm(
    GemmSize size, IndexedOperand<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c);

}  // namespace tandem::kernels
