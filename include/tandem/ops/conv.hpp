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

}  // namespace tandem
