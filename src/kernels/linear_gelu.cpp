// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/linear_gelu.hpp"

#include <algorithm>
#include <array>

#include "kernels/element.hpp"
#include "kernels/for_each.hpp"
#include "kernels/gelu.inl"
#include "kernels/gemm.hpp"
#include "kernels/unary.hpp"
#include "kernels/workspace.hpp"

namespace tandem::kernels {
namespace {

constexpr std::int64_t kSumRows = 64;      ///< whose sums are made in f32
constexpr std::int64_t kColumns = 1024;    ///< of sums that stay in the first-level cache
constexpr std::int64_t kMaxRowParts = 32;  ///< of the rows: enough for any number of threads

/// Parts of the rows, by sizes alone; the sums of part p stand in row p of `sums`.
template <class T, class Grad>
struct GradBias {
  Grad grad;
  std::int64_t rows, columns;
  const T* dy;
  const T* pre;
  T* dpre;
  double* sums;

  std::int64_t parts() const { return std::clamp<std::int64_t>(rows / kSumRows, 1, kMaxRowParts); }

  void run_part(std::int64_t p) const {
    const std::int64_t begin = rows * p / parts(), end = rows * (p + 1) / parts();
    double* const total = sums + p * columns;
    std::fill_n(total, columns, 0.0);
    for (std::int64_t row = begin; row < end; row += kSumRows) {
      const std::int64_t last = std::min(end, row + kSumRows);
      for (std::int64_t column = 0; column < columns; column += kColumns)
        run_block(row, last, column, std::min(kColumns, columns - column), total + column);
    }
  }

  void run_block(std::int64_t begin,
                 std::int64_t end,
                 std::int64_t column,
                 std::int64_t n,
                 double* total) const {
    using Number = compute_t<T>;
    std::array<Number, static_cast<std::size_t>(kColumns)> block;
    std::fill_n(block.begin(), n, Number(0));
    for (std::int64_t row = begin; row < end; ++row)
      run_row(row * columns + column, n, block.data());
    for (std::int64_t j = 0; j < n; ++j)
      total[j] += static_cast<double>(block[static_cast<std::size_t>(j)]);
  }

  /// Flattened: a loop with a call in it is not vectorised.
  [[gnu::flatten]] void run_row(std::int64_t at, std::int64_t n, compute_t<T>* block) const {
    const T* const d = dy + at;
    const T* const x = pre + at;
    T* const out = dpre + at;
#pragma GCC ivdep
    for (std::int64_t j = 0; j < n; ++j) {
      const auto g = grad(load(d[j]), load(x[j]));
      out[j] = store<T>(g);
      block[j] += g;
    }
  }
};

template <class T, class Grad>
void run_grad_bias(const HostStream& s,
                   Grad grad,
                   const View& dy,
                   const View& pre,
                   const View& dpre,
                   const View& dbias) {
  GradBias<T, Grad> work{
      grad, pre.shape[0], pre.shape[1], dy.as<T>(), pre.as<T>(), dpre.as<T>(), nullptr};
  const std::int64_t parts = work.parts();
  const Workspace<double> sums(s.device, parts * work.columns);
  if (!s.computes) return;
  work.sums = sums.data();
  const std::int64_t tiles = std::min(parts, tile_count(s, work.rows * work.columns, kGrain));
  const auto run = [&](std::int64_t t) {
    for (std::int64_t p = parts * t / tiles; p < parts * (t + 1) / tiles; ++p)
      work.run_part(p);
  };
  if (tiles == 1)
    run(0);
  else
    for_each_tile(s, tiles, run);
  T* const out = dbias.as<T>();
  for (std::int64_t j = 0; j < work.columns; ++j) {
    double total = 0;
    for (std::int64_t p = 0; p < parts; ++p)
      total += work.sums[p * work.columns + j];
    out[j] = store<T>(static_cast<compute_t<T>>(total));
  }
}

}  // namespace

void linear_gelu(const HostStream& s,
                 GeluForm form,
                 const View& x,
                 const View& weight,
                 const View& bias,
                 const View& pre,
                 const View& y) {
  matmul(s, x, weight, bias, pre);
  if (!s.computes) return;
  unary(s, form == GeluForm::exact ? Unary::gelu : Unary::gelu_tanh, pre, y);
}

void gelu_grad_bias(const HostStream& s,
                    GeluForm form,
                    const View& dy,
                    const View& pre,
                    const View& dpre,
                    const View& dbias) {
  with_any_float(dpre.dtype, [&]<class T>() {
    if (form == GeluForm::exact)
      run_grad_bias<T>(s, GeluGrad{}, dy, pre, dpre, dbias);
    else
      run_grad_bias<T>(s, GeluTanhGrad{}, dy, pre, dpre, dbias);
  });
}

}  // namespace tandem::kernels
