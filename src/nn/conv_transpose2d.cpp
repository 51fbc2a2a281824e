// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/conv_transpose2d.hpp"

#include "nn/conv_sizes.hpp"
#include "nn/default_init.hpp"

namespace tandem::nn {

ConvTranspose2d::ConvTranspose2d(std::int64_t in_channels,
                                 std::int64_t out_channels,
                                 Pair kernel,
                                 ConvTranspose2dOptions options)
    : options_{.stride = options.stride,
               .padding = options.padding,
               .output_padding = options.output_padding,
               .dilation = options.dilation,
               .groups = options.groups} {
  check_conv_sizes("ConvTranspose2d", in_channels, out_channels, kernel, options.groups);
  const TensorOptions tensor_options{.dtype = options.dtype, .device = options.device};
  weight = default_weight({in_channels, out_channels / options.groups, kernel[0], kernel[1]},
                          tensor_options);
  if (options.bias) bias = default_bias(weight, out_channels, tensor_options);
}

Tensor ConvTranspose2d::forward(const Tensor& x) {
  return conv_transpose2d(x, weight, bias, options_);
}

}  // namespace tandem::nn
