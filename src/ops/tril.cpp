// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/tril.hpp"

#include <algorithm>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem {
namespace {

enum class Triangle { lower, upper };

Tensor triangle_mask(
    Triangle which, std::int64_t rows, std::int64_t cols, std::int64_t wanted, Device device) {
  const std::int64_t diagonal = std::clamp(wanted, -rows, cols);  // all beyond are alike
  const TensorOptions like{.dtype = DType::i64, .device = device};
  const auto end = static_cast<double>(rows + diagonal);
  const Tensor at = arange(static_cast<double>(diagonal), end, 1, like).unsqueeze(1);
  const Tensor col = arange(0, static_cast<double>(cols), 1, like);
  return which == Triangle::lower ? le(col, at) : ge(col, at);
}

/// x where the mask of its last two dimensions holds, else zero.
Tensor kept(const char* name, Triangle which, const Tensor& x, std::int64_t diagonal) {
  TANDEM_CHECK(x.ndim() >= 2, name, ": needs at least two dimensions, got ", x.describe());
  return where(triangle_mask(which, x.size(-2), x.size(-1), diagonal, x.device()), x, 0.0);
}

}  // namespace

Tensor tril(const Tensor& x, std::int64_t diagonal) {
  return kept("tril", Triangle::lower, x, diagonal);
}
Tensor triu(const Tensor& x, std::int64_t diagonal) {
  return kept("triu", Triangle::upper, x, diagonal);
}

Tensor tril_mask(std::int64_t rows, std::int64_t cols, std::int64_t diagonal, Device device) {
  TANDEM_CHECK(rows >= 0 && cols >= 0,
               "tril_mask: sizes are ",
               rows,
               " and ",
               cols,
               "; neither may be negative");
  return triangle_mask(Triangle::lower, rows, cols, diagonal, device);
}
Tensor triu_mask(std::int64_t rows, std::int64_t cols, std::int64_t diagonal, Device device) {
  TANDEM_CHECK(rows >= 0 && cols >= 0,
               "triu_mask: sizes are ",
               rows,
               " and ",
               cols,
               "; neither may be negative");
  return triangle_mask(Triangle::upper, rows, cols, diagonal, device);
}

}  // namespace tandem
