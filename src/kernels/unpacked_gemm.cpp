// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/indexed_gemm.hpp"

namespace tandem::kernels {
namespace {

/// Rows of a tile of two vectors: its sums fill the registers, 32 or 16 of them.
constexpr int kTileRows = kVectorBytes >= 64 ? 8 : 6;

/// R rows and N vectors of c, its sums in registers.
template <class T, int R, int N>
void tile(
    std::int64_t depth, IndexedOperand<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  Vector<T> sums[R][N];
  const T* rows[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    rows[r] = a.data + a.row[r];
    for (int n = 0; n < N; ++n) {
      sums[r][n] =
          start.data == nullptr ? Vector<T>{} : load(start.data + r * start.ld + n * kLanes<T>);
    }
  }
  for (std::int64_t k = 0; k < depth; ++k, b.data += b.ld) {
    Vector<T> line[N];
    for (int n = 0; n < N; ++n)
      line[n] = load(b.data + n * kLanes<T>);
    for (int r = 0; r < R; ++r) {
      const T x = rows[r][a.column[k]];
      for (int n = 0; n < N; ++n)
        sums[r][n] += x * line[n];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n)
      store<T>(sums[r][n], c.data + r * c.ld + n * kLanes<T>);
  }
}

/// All rows of N vectors of c: tiles of R, then one of what is left.
template <class T, int R, int N>
void panel(GemmSize size, IndexedOperand<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  for (; size.m >= R; size.m -= R) {
    tile<T, R, N>(size.k, a, b, start, c);
    a.row += R;
    if (start.data != nullptr) start.data += R * start.ld;
    c.data += R * c.ld;
  }
  if constexpr (R > 1) {
    if (size.m > 0) panel<T, R - 1, N>(size, a, b, start, c);
  }
}

}  // namespace

template <class T>
void indexed_gemm(
    GemmSize size, IndexedOperand<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  constexpr std::int64_t kPair = 2 * kLanes<T>;
  for (; size.n > 0; size.n -= kPair) {
    (size.n >= kPair ? panel<T, kTileRows, 2> : panel<T, kTileRows, 1>)(size, a, b, start, c);
    b.data += kPair;
    if (start.data != nullptr) start.data += kPair;
    c.data += kPair;
  }
}

template void indexed_gemm(
    GemmSize, IndexedOperand<float>, Rows<const float>, Rows<const float>, Rows<float>);
template void indexed_gemm(
    GemmSize, IndexedOperand<double>, Rows<const double>, Rows<const double>, Rows<double>);

}  // namespace tandem::kernels
