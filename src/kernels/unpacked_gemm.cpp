// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/unpacked_gemm.hpp"

namespace tandem::kernels {
namespace {

/// R rows and N vectors of L elements of c, its sums in registers.
template <class T, int R, int N, std::int64_t L, class A>
void tile(std::int64_t depth, const A& a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  Vector<T, L> sums[R][N];
  const T* rows[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    rows[r] = a.row_at(r);
    for (int n = 0; n < N; ++n) {
      sums[r][n] =
          start.data == nullptr ? Vector<T, L>{} : load<T, L>(start.data + r * start.ld + n * L);
    }
  }
  for (std::int64_t k = 0; k < depth; ++k, b.data += b.ld) {
    Vector<T, L> line[N];
    for (int n = 0; n < N; ++n)
      line[n] = load<T, L>(b.data + n * L);
    const std::int64_t column = a.column_at(k);
    for (int r = 0; r < R; ++r) {
      const T x = rows[r][column];
      for (int n = 0; n < N; ++n)
        sums[r][n] += x * line[n];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n)
      store<T, L>(sums[r][n], c.data + r * c.ld + n * L);
  }
}

/// All rows of N vectors of c: tiles of R, then one of what is left.
template <class T, int R, int N, std::int64_t L, class A>
void panel(GemmSize size, A a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  for (; size.m >= R; size.m -= R) {
    tile<T, R, N, L>(size.k, a, b, start, c);
    a.skip_rows(R);
    if (start.data != nullptr) start.data += R * start.ld;
    c.data += R * c.ld;
  }
  if constexpr (R > 1) {
    if (size.m > 0) panel<T, R - 1, N, L>(size, a, b, start, c);
  }
}

/// Columns of c by N vectors of L elements; then what is left by one vector, and by vectors of half
/// as many.
template <class T, int N, std::int64_t L, class A>
void multiply(GemmSize size, const A& a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  for (; size.n >= N * L; size.n -= N * L) {
    panel<T, kTileRows, N, L>(size, a, b, start, c);
    b.data += N * L;
    if (start.data != nullptr) start.data += N * L;
    c.data += N * L;
  }
  if (size.n == 0) return;
  if constexpr (N > 1)
    multiply<T, 1, L>(size, a, b, start, c);
  else if constexpr (L > 1)
    multiply<T, 1, L / 2>(size, a, b, start, c);
}

}  // namespace

template <class T>
void unpacked_gemm(
    GemmSize size, IndexedOperand<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  multiply<T, 2, kLanes<T>>(size, a, b, start, c);
}

template <class T>
void unpacked_gemm(
    GemmSize size, StridedOperand<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  multiply<T, 2, kLanes<T>>(size, a, b, start, c);
}

template void unpacked_gemm(
    GemmSize, IndexedOperand<float>, Rows<const float>, Rows<const float>, Rows<float>);
template void unpacked_gemm(
    GemmSize, IndexedOperand<double>, Rows<const double>, Rows<const double>, Rows<double>);
template void unpacked_gemm(
    GemmSize, StridedOperand<float>, Rows<const float>, Rows<const float>, Rows<float>);
template void unpacked_gemm(
    GemmSize, StridedOperand<double>, Rows<const double>, Rows<const double>, Rows<double>);

}  // namespace tandem::kernels
