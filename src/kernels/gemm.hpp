// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/runtime/stream.hpp"

#include "kernels/view.hpp"

namespace tandem::kernels {

/// How a matrix lies in memory, as BLAS sees it.
enum class MatrixOrder : std::uint8_t { row_major, column_major };

/// Order and step between rows (row-major) or columns (column-major) of a matrix.
struct MatrixLayout {
  MatrixOrder order = MatrixOrder::row_major;
  std::int64_t ld = 1;
};

/// The layout of `rows` x `cols` with these strides; none where BLAS cannot read it without a copy.
std::optional<MatrixLayout> matrix_layout(std::int64_t rows,
                                          std::int64_t cols,
                                          std::int64_t row_stride,
                                          std::int64_t col_stride) noexcept;

/// The layout of the last two dimensions of `x`, which has one.
inline MatrixLayout layout_of(const View& x) {
  return matrix_layout(x.shape[-2], x.shape[-1], x.strides[-2], x.strides[-1]).value();
}

/// A matrix that GEMM reads.
template <class T>
struct Operand {
  const T* data = nullptr;
  MatrixLayout layout;

  /// From row `row` and column `col` on.
  Operand at(std::int64_t row, std::int64_t col) const noexcept {
    const bool rows = layout.order == MatrixOrder::row_major;
    return {data + (rows ? row * layout.ld + col : col * layout.ld + row), layout};
  }
};

/// The same memory seen as the transposed matrix.
template <class T>
Operand<T> transposed(Operand<T> x) noexcept {
  const bool rows = x.layout.order == MatrixOrder::row_major;
  return {x.data, {rows ? MatrixOrder::column_major : MatrixOrder::row_major, x.layout.ld}};
}

struct GemmSize {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// c = a @ b + beta * c, on the calling thread. @param c  row-major, step `ldc` between rows.
template <class T>
void gemm_serial(GemmSize size, Operand<T> a, Operand<T> b, T beta, T* c, std::int64_t ldc);

/// The same on the threads of `s`: the larger side of c is cut among them.
template <class T>
void gemm(
    const HostStream& s, GemmSize size, Operand<T> a, Operand<T> b, T beta, T* c, std::int64_t ldc);

/// c = a @ b + bias over batches: a (..., m, k), b (..., k, n), c (..., m, n) with equal batch
/// sizes.
///
/// A batch stride may be zero (broadcast). The last two dimensions of a and b have a matrix_layout,
/// c's are row-major. @param bias  (n), dense; null data: none.
void matmul(const HostStream& s, const View& a, const View& b, const View& bias, const View& c);
void matmul(const CudaStream& s, const View& a, const View& b, const View& bias, const View& c);

}  // namespace tandem::kernels
