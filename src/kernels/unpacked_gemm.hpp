// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/gemm.hpp"
#include "kernels/vector.hpp"

namespace tandem::kernels {

/// Rows of a tile of two vectors: its sums fill the registers, 32 or 16 of them.
inline constexpr int kTileRows = kVectorBytes >= 64 ? 8 : 6;

/// A matrix that need not be there: element (i, k) is data[row[i] + column[k]].
template <class T>
struct IndexedOperand {
  const T* data = nullptr;
  const std::int64_t* row = nullptr;
  const std::int64_t* column = nullptr;

  const T* row_at(std::int64_t i) const { return data + row[i]; }
  std::int64_t column_at(std::int64_t k) const { return column[k]; }
  void skip_rows(std::int64_t n) { row += n; }
};

/// A matrix by steps: element (i, k) is data[i * row_step + k * column_step].
template <class T>
struct StridedOperand {
  const T* data = nullptr;
  std::int64_t row_step = 0;
  std::int64_t column_step = 1;

  const T* row_at(std::int64_t i) const { return data + i * row_step; }
  std::int64_t column_at(std::int64_t k) const { return k * column_step; }
  void skip_rows(std::int64_t n) { data += n * row_step; }
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
///
/// @param start  null data: zero; may be c.
template <class T>
void unpacked_gemm(
    GemmSize size, IndexedOperand<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c);
template <class T>
void unpacked_gemm(
    GemmSize size, StridedOperand<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c);

}  // namespace tandem::kernels
