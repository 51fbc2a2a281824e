// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/ops/conv.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem {

struct ConvTranspose2dOptions {
  Pair stride{1, 1};
  Pair padding{0, 0};
  /// Rows and columns added at one end; each less than the larger of the stride and the dilation.
  Pair output_padding{0, 0};
  Pair dilation{1, 1};
  std::int64_t groups = 1;
};

/// Transposed 2-D convolution: the gradient with respect to the input of the conv2d that has this
/// weight. Keeps x's memory format.
///
/// @param x       (N, C, H, W)
/// @param weight  (C, O / groups, kH, kW)
/// @param bias    (O) or undefined
/// @return        (N, O, H', W'), where
///                H' = (H - 1) * stride - 2 * padding + dilation * (kH - 1) + output_padding + 1.
Tensor conv_transpose2d(const Tensor& x,
                        const Tensor& weight,
                        const Tensor& bias = {},
                        ConvTranspose2dOptions options = {});

}  // namespace tandem
