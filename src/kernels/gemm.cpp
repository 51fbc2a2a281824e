// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/gemm.hpp"

#include <algorithm>
#include <type_traits>

#include <cblas.h>

#include "tandem/config.hpp"

#include "kernels/for_each.hpp"
#include "kernels/onednn/fast_path.hpp"
#include "kernels/product_table.hpp"
#include "kernels/widened_matmul.hpp"

namespace tandem::kernels {
namespace {

/// Multiply-adds below which a second thread, or a library's look-up, costs more than it saves.
constexpr std::int64_t kSmallGemm = 64 * 64 * 64;

/// Steps of the matrices of a batch, and the sizes that they are counted by.
struct Batch {
  Shape shape;
  Strides a, b, c;

  explicit Batch(const View& x, const View& y, const View& z) {
    for (int d = 0; d < z.shape.size() - 2; ++d) {
      shape.push_back(z.shape[d]);
      a.push_back(x.strides[d]);
      b.push_back(y.strides[d]);
      c.push_back(z.strides[d]);
    }
  }

  /// Offset of matrix `i` by `strides`.
  std::int64_t offset(std::int64_t i, const Strides& strides) const {
    std::int64_t at = 0;
    for (int d = shape.size() - 1; d >= 0; --d) {
      at += i % shape[d] * strides[d];
      i /= shape[d];
    }
    return at;
  }
};

template <class T>
void fill_rows(GemmSize size, const T* bias, T* c, std::int64_t ldc) {
  for (std::int64_t i = 0; i < size.m; ++i) {
    if (bias == nullptr)
      std::fill_n(c + i * ldc, size.n, T(0));
    else
      std::copy_n(bias, size.n, c + i * ldc);
  }
}

/// One matrix of the batch; `inner` has the threads that it may use.
template <class T>
void multiply(const HostStream& inner,
              GemmSize size,
              Operand<T> a,
              Operand<T> b,
              const T* bias,
              T* c,
              std::int64_t ldc) {
  if (bias != nullptr || size.k == 0) fill_rows(size, bias, c, ldc);
  if (size.k > 0) gemm(inner, size, a, b, bias == nullptr ? T(0) : T(1), c, ldc);
}

template <class T>
void native_matmul(
    const HostStream& s, const View& a, const View& b, const View& bias, const View& c) {
  const GemmSize size{c.shape[-2], c.shape[-1], a.shape[-1]};
  const MatrixLayout la = layout_of(a), lb = layout_of(b);
  const std::int64_t ldc = layout_of(c).ld;
  const Batch batch(a, b, c);
  const std::int64_t count = numel(batch.shape);

  // Whole matrices per thread where there are enough of them, else threads within each.
  const bool outer = count >= s.threads;
  const HostStream inner{s.device, outer ? 1 : s.threads, s.path};
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      multiply<T>(inner,
                  size,
                  {a.as<T>() + batch.offset(i, batch.a), la},
                  {b.as<T>() + batch.offset(i, batch.b), lb},
                  bias.as<T>(),
                  c.as<T>() + batch.offset(i, batch.c),
                  ldc);
    }
  };
  const std::int64_t tiles =
      outer ? tile_count(
                  s, count, kSmallGemm / std::max<std::int64_t>(1, size.m * size.n * size.k) + 1)
            : 1;
  if (tiles == 1) return run(0, count);
  for_each_tile(s, tiles, [&](std::int64_t t) { run(count * t / tiles, count * (t + 1) / tiles); });
}

/// In bf16 oneDNN alone multiplies without widening.
bool wants_onednn(const View& a, const View& b, const View& c) {
  if (c.dtype != DType::f32) return c.dtype == DType::bf16;
  const GemmSize size{c.shape[-2], c.shape[-1], a.shape[-1]};
  const std::int64_t count = c.numel() / (size.m * size.n);
  return product_library(product_form(layout_of(a), layout_of(b)), product_size(count, size)) ==
         ProductLibrary::onednn;
}

}  // namespace

std::optional<MatrixLayout> matrix_layout(std::int64_t rows,
                                          std::int64_t cols,
                                          std::int64_t row_stride,
                                          std::int64_t col_stride) noexcept {
  const auto fits = [](std::int64_t outer,
                       std::int64_t inner,
                       std::int64_t outer_stride,
                       std::int64_t inner_stride) {
    return (inner <= 1 || inner_stride == 1) &&
           (outer <= 1 || outer_stride >= std::max<std::int64_t>(1, inner));
  };
  if (rows == 0 || cols == 0)
    return MatrixLayout{MatrixOrder::row_major, std::max<std::int64_t>(1, cols)};
  if (fits(rows, cols, row_stride, col_stride)) {
    return MatrixLayout{MatrixOrder::row_major,
                        rows <= 1 ? std::max<std::int64_t>(1, cols) : row_stride};
  }
  if (fits(cols, rows, col_stride, row_stride)) {
    return MatrixLayout{MatrixOrder::column_major,
                        cols <= 1 ? std::max<std::int64_t>(1, rows) : col_stride};
  }
  return std::nullopt;
}

template <class T>
void gemm_serial(GemmSize size, Operand<T> a, Operand<T> b, T beta, T* c, std::int64_t ldc) {
  if (size.m == 0 || size.n == 0) return;
  // The cores are shared out by us. The count is the process's: set once, unless the program
  // changes it.
  if (openblas_get_num_threads() != 1) openblas_set_num_threads(1);
  const auto flag = [](MatrixOrder order) {
    return order == MatrixOrder::row_major ? CblasNoTrans : CblasTrans;
  };
  const auto i = [](std::int64_t v) { return static_cast<blasint>(v); };
  const auto call = [&](auto f) {
    f(CblasRowMajor,
      flag(a.layout.order),
      flag(b.layout.order),
      i(size.m),
      i(size.n),
      i(size.k),
      T(1),
      a.data,
      i(a.layout.ld),
      b.data,
      i(b.layout.ld),
      beta,
      c,
      i(ldc));
  };
  if constexpr (std::is_same_v<T, float>)
    call(cblas_sgemm);
  else
    call(cblas_dgemm);
}

template <class T>
void gemm(const HostStream& s,
          GemmSize size,
          Operand<T> a,
          Operand<T> b,
          T beta,
          T* c,
          std::int64_t ldc) {
  const bool by_rows = size.m >= size.n;
  const std::int64_t side = by_rows ? size.m : size.n;
  const std::int64_t work = size.m * size.n * size.k;
  const std::int64_t tiles =
      work < 2 * kSmallGemm ? 1 : std::min(side, tile_count(s, work, kSmallGemm));
  if (tiles <= 1) return gemm_serial(size, a, b, beta, c, ldc);
  for_each_tile(s, tiles, [&](std::int64_t t) {
    const std::int64_t begin = side * t / tiles, count = side * (t + 1) / tiles - begin;
    if (by_rows)
      gemm_serial<T>({count, size.n, size.k}, a.at(begin, 0), b, beta, c + begin * ldc, ldc);
    else
      gemm_serial<T>({size.m, count, size.k}, a, b.at(0, begin), beta, c + begin, ldc);
  });
}

template void gemm_serial(GemmSize, Operand<float>, Operand<float>, float, float*, std::int64_t);
template void gemm_serial(
    GemmSize, Operand<double>, Operand<double>, double, double*, std::int64_t);
template void gemm(
    const HostStream&, GemmSize, Operand<float>, Operand<float>, float, float*, std::int64_t);
template void gemm(
    const HostStream&, GemmSize, Operand<double>, Operand<double>, double, double*, std::int64_t);

void matmul(const HostStream& s, const View& a, const View& b, const View& bias, const View& c) {
  if (c.numel() == 0) return;
  if constexpr (has_onednn) {
    const std::int64_t work = c.numel() * a.shape[-1];
    const bool fast = s.path == KernelPath::fastest && work >= kSmallGemm &&
                      wants_onednn(a, b, c) &&
                      onednn::matmul(threads_for(s, work, kProductGrain), a, b, bias, c);
    if (fast) return;
  }
  if (is_float16(c.dtype)) return widened_matmul(s, a, b, bias, c);
  if (!s.computes) return;
  with_float(c.dtype, [&]<class T>() { native_matmul<T>(s, a, b, bias, c); });
}

}  // namespace tandem::kernels
