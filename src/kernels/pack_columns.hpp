// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/unpacked_gemm.hpp"
#include "kernels/vector.hpp"

// The transposed of a small matrix, as unpacked_gemm reads its second factor.
namespace tandem::kernels {
namespace detail {

using Eight = Vector<float, 8>;

/// Puts the upper half of the pairs of `a` in the place of the lower one of `b`, and the other way
/// round, for pairs of 4, 2 and 1 elements.
inline void exchange4(Eight& a, Eight& b) {
  const Eight low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
  b = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  a = low;
}
inline void exchange2(Eight& a, Eight& b) {
  const Eight low = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
  b = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  a = low;
}
inline void exchange1(Eight& a, Eight& b) {
  const Eight low = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
  b = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  a = low;
}

/// 8 x 8 elements. A template, since a processor without such vectors has no function that takes
/// one.
template <class T>
void transpose_eight(const T* from, std::int64_t from_ld, T* to, std::int64_t ld) {
  Eight x[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i)
    x[i] = load<T, 8>(from + i * from_ld);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    exchange4(x[i], x[i + 4]);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i)
    if (i % 4 < 2) exchange2(x[i], x[i + 2]);
#pragma GCC unroll 8
  for (int i = 0; i < 8; i += 2)
    exchange1(x[i], x[i + 1]);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i)
    store<T, 8>(x[i], to + i * ld);
}

}  // namespace detail

/// to = from transposed, (cols, rows); behind it zeros up to `width` columns.
template <class T>
void pack_columns(
    Rows<const T> from, std::int64_t rows, std::int64_t cols, Rows<T> to, std::int64_t width) {
  std::int64_t whole_rows = 0, whole_cols = 0;  // by blocks of eight
  if constexpr (std::is_same_v<T, float> && kVectorBytes >= 32) {
    whole_rows = rows / 8 * 8;
    whole_cols = cols / 8 * 8;
    for (std::int64_t j = 0; j < whole_rows; j += 8) {
      for (std::int64_t d = 0; d < whole_cols; d += 8)
        detail::transpose_eight(
            from.data + j * from.ld + d, from.ld, to.data + d * to.ld + j, to.ld);
    }
  }
  for (std::int64_t d = 0; d < cols; ++d) {
    T* const line = to.data + d * to.ld;
    for (std::int64_t j = d < whole_cols ? whole_rows : 0; j < rows; ++j)
      line[j] = from.data[j * from.ld + d];
    for (std::int64_t j = rows; j < width; ++j)
      line[j] = T(0);
  }
}

}  // namespace tandem::kernels
