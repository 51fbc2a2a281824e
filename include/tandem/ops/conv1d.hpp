// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

struct Conv1dOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
};

/// 1-D convolution, computed as conv2d over images with one row.
///
/// @param x       (N, C, L)
/// @param weight  (O, C / groups, K)
/// @param bias    (O) or undefined
Tensor conv1d(const Tensor& x,
              const Tensor& weight,
              const Tensor& bias = {},
              Conv1dOptions options = {});

}  // namespace tandem
