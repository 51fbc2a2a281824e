// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "tandem/ops/conv.hpp"

namespace tandem {

struct Pool2dOptions {
  std::optional<Pair> stride = std::nullopt;  ///< not set: the kernel's size
  Pair padding{0, 0};
};
/// Whether avg_pool2d counts the padding in what it divides by at the border.
enum class PadCount : std::uint8_t { include, exclude };

/// The maximum of each window of (N, C, H, W). Keeps x's memory format.
Tensor max_pool2d(const Tensor& x, Pair kernel, Pool2dOptions options = {});
/// Also returns the i64 index (h * W + w) of each maximum, like PyTorch's return_indices.
std::pair<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x,
                                                  Pair kernel,
                                                  Pool2dOptions options = {});
Tensor avg_pool2d(const Tensor& x,
                  Pair kernel,
                  Pool2dOptions options = {},
                  PadCount count = PadCount::include);
/// Averages to an output of size (height, width), with PyTorch's window borders.
Tensor adaptive_avg_pool2d(const Tensor& x, Pair output);

}  // namespace tandem
