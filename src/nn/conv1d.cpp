// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/conv1d.hpp"

#include "nn/conv_sizes.hpp"
#include "nn/default_init.hpp"

namespace tandem::nn {

Conv1d::Conv1d(std::int64_t in_channels,
               std::int64_t out_channels,
               std::int64_t kernel,
               Conv1dOptions options)
    : options_{.stride = options.stride,
               .padding = options.padding,
               .dilation = options.dilation,
               .groups = options.groups} {
  check_conv_sizes("Conv1d", in_channels, out_channels, {1, kernel}, options.groups);
  const TensorOptions tensor_options{.dtype = options.dtype, .device = options.device};
  weight = default_weight({out_channels, in_channels / options.groups, kernel}, tensor_options);
  if (options.bias) bias = default_bias(weight, tensor_options);
}

Tensor Conv1d::forward(const Tensor& x) {
  return conv1d(x, weight, bias, options_);
}

}  // namespace tandem::nn
