// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/unpacked_gemm.hpp"

namespace tandem::kernels {
namespace {

/// R rows and N vectors of c, its sums in registers.
template <class T, int R, int N, class A>
void tile(std::int64_t depth, const A& a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  Vector<T> sums[R][N];
  const T* rows[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    rows[r] = a.row_at(r);
    for (int n = 0; n < N; ++n) {
      sums[r][n] =
          start.data == nullptr ? Vector<T>{} : load(start.data + r * start.ld + n * kLanes<T>);
    }
  }
  for (std::int64_t k = 0; k < depth; ++k, b.data += b.ld) {
    Vector<T> line[N];
    for (int n = 0; n < N; ++n)
      line[n] = load(b.data + n * kLanes<T>);
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
      store<T>(sums[r][n], c.data + r * c.ld + n * kLanes<T>);
  }
}

/// All rows of N vectors of c: tiles of R, then one of what is left.
template <class T, int R, int N, class A>
void panel(GemmSize size, A a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  for (; size.m >= R; size.m -= R) {
    tile<T, R, N>(size.k, a, b, start, c);
    a.skip_rows(R);
    if (start.data != nullptr) start.data += R * start.ld;
    c.data += R * c.ld;
  }
  if constexpr (R > 1) {
    if (size.m > 0) panel<T, R - 1, N>(size, a, b, start, c);
  }
}

/// Fewer columns than a vector has.
template <class T, class A>
void narrow(GemmSize size, const A& a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  for (std::int64_t i = 0; i < size.m; ++i) {
    const T* const row = a.row_at(i);
    for (std::int64_t j = 0; j < size.n; ++j) {
      T sum = start.data == nullptr ? T(0) : start.data[i * start.ld + j];
      for (std::int64_t k = 0; k < size.k; ++k)
        sum += row[a.column_at(k)] * b.data[k * b.ld + j];
      c.data[i * c.ld + j] = sum;
    }
  }
}

template <class T, class A>
void multiply(GemmSize size, const A& a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  constexpr std::int64_t kOne = kLanes<T>, kPair = 2 * kOne;
  while (size.n >= kOne) {
    const std::int64_t step = size.n >= kPair ? kPair : kOne;
    (step == kPair ? panel<T, kTileRows, 2, A> : panel<T, kTileRows, 1, A>)(size, a, b, start, c);
    size.n -= step;
    b.data += step;
    if (start.data != nullptr) start.data += step;
    c.data += step;
  }
  if (size.n > 0) narrow(size, a, b, start, c);
}

}  // namespace

template <class T>
void unpacked_gemm(
    GemmSize size, IndexedOperand<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  multiply(size, a, b, start, c);
}

template <class T>
void unpacked_gemm(
    GemmSize size, StridedOperand<T> a, Rows<const T> b, Rows<const T> start, Rows<T> c) {
  multiply(size, a, b, start, c);
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
