// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/elementwise.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem {
namespace {

enum class Half { lower, upper };

Tensor half_mask(
    Half half, std::int64_t rows, std::int64_t cols, std::int64_t diagonal, Device device) {
  const TensorOptions like{.dtype = DType::i64, .device = device};
  const auto end = static_cast<double>(rows + diagonal);
  const Tensor at = arange(static_cast<double>(diagonal), end, 1, like).unsqueeze(1);
  const Tensor col = arange(0, static_cast<double>(cols), 1, like);
  return half == Half::lower ? le(col, at) : ge(col, at);
}

/// x where the mask of its last two dimensions holds, else zero.
Tensor kept(const char* name, Half half, const Tensor& x, std::int64_t diagonal) {
  TANDEM_CHECK(x.ndim() >= 2, name, ": needs two dimensions at least, got ", x.describe());
  return where(half_mask(half, x.size(-2), x.size(-1), diagonal, x.device()), x, 0.0);
}

}  // namespace

Tensor tril(const Tensor& x, std::int64_t diagonal) {
  return kept("tril", Half::lower, x, diagonal);
}
Tensor triu(const Tensor& x, std::int64_t diagonal) {
  return kept("triu", Half::upper, x, diagonal);
}

Tensor tril_mask(std::int64_t rows, std::int64_t cols, std::int64_t diagonal, Device device) {
  TANDEM_CHECK(rows >= 0 && cols >= 0, "tril_mask: sizes ", rows, " and ", cols, " are negative");
  return half_mask(Half::lower, rows, cols, diagonal, device);
}
Tensor triu_mask(std::int64_t rows, std::int64_t cols, std::int64_t diagonal, Device device) {
  TANDEM_CHECK(rows >= 0 && cols >= 0, "triu_mask: sizes ", rows, " and ", cols, " are negative");
  return half_mask(Half::upper, rows, cols, diagonal, device);
}

}  // namespace tandem
