// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/conv2d.hpp"

#include "nn/conv_sizes.hpp"
#include "nn/default_init.hpp"

namespace tandem::nn {

Conv2d::Conv2d(std::int64_t in_channels,
               std::int64_t out_channels,
               Pair kernel,
               Conv2dOptions options)
    : options_{.stride = options.stride,
               .padding = options.padding,
               .dilation = options.dilation,
               .groups = options.groups} {
  check_conv_sizes("Conv2d", in_channels, out_channels, kernel, options.groups);
  const TensorOptions tensor_options{.dtype = options.dtype, .device = options.device};
  weight = default_weight({out_channels, in_channels / options.groups, kernel[0], kernel[1]},
                          tensor_options);
  if (options.bias) bias = default_bias(weight, tensor_options);
}

Tensor Conv2d::forward(const Tensor& x) {
  return conv2d(x, weight, bias, options_);
}

}  // namespace tandem::nn
