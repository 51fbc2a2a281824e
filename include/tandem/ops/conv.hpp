// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

using Pair = std::array<std::int64_t, 2>;  ///< height, width

struct Conv2dOptions {
  Pair stride{1, 1};
  Pair padding{0, 0};
  Pair dilation{1, 1};
  std::int64_t groups = 1;
};

/// 2-D convolution.
///
/// The result has x's memory format; channels-last is the faster one. Together, conv2d,
/// conv2d_input_grad and conv2d_weight_grad are closed under differentiation.
/// @param x       (N, C, H, W)
/// @param weight  (O, C / groups, kH, kW)
/// @param bias    (O) or undefined
Tensor conv2d(const Tensor& x,
              const Tensor& weight,
              const Tensor& bias = {},
              Conv2dOptions options = {});
/// Gradient of conv2d with respect to x, of the given shape.
Tensor conv2d_input_grad(const Tensor& dy,
                         const Tensor& weight,
                         const Shape& x_shape,
                         Conv2dOptions options = {});
/// Gradient of conv2d with respect to weight, of the given shape.
Tensor conv2d_weight_grad(const Tensor& dy,
                          const Tensor& x,
                          const Shape& weight_shape,
                          Conv2dOptions options = {});

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
