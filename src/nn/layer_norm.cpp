// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/layer_norm.hpp"

#include "tandem/core/check.hpp"
#include "tandem/ops/layer_norm.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::nn {

LayerNorm::LayerNorm(const Shape& normalized_shape, LayerNormOptions options)
    : normalized_shape_(normalized_shape), eps_(options.eps) {
  TANDEM_CHECK(!normalized_shape.empty() && numel(normalized_shape) > 0,
               "LayerNorm: sizes must be at least 1, got ",
               normalized_shape);
  const TensorOptions tensor_options{.dtype = options.dtype, .device = options.device};
  if (!options.elementwise_affine) return;
  weight = ones(normalized_shape, tensor_options);
  if (options.bias) bias = zeros(normalized_shape, tensor_options);
}

Tensor LayerNorm::forward(const Tensor& x) {
  return layer_norm(x, normalized_shape_, weight, bias, eps_);
}

GroupNorm::GroupNorm(std::int64_t num_groups, std::int64_t num_channels, GroupNormOptions options)
    : num_groups_(num_groups), num_channels_(num_channels), eps_(options.eps) {
  TANDEM_CHECK(num_groups > 0 && num_channels > 0 && num_channels % num_groups == 0,
               "GroupNorm: ",
               num_channels,
               " channels cannot be cut into ",
               num_groups,
               " groups of equal size");
  const TensorOptions tensor_options{.dtype = options.dtype, .device = options.device};
  if (!options.affine) return;
  weight = ones({num_channels}, tensor_options);
  bias = zeros({num_channels}, tensor_options);
}

Tensor GroupNorm::forward(const Tensor& x) {
  TANDEM_CHECK(x.ndim() >= 2 && x.size(1) == num_channels_,
               "GroupNorm: the input ",
               x.describe(),
               " does not have the module's ",
               num_channels_,
               " channels in dimension 1");
  return group_norm(x, num_groups_, weight, bias, eps_);
}

}  // namespace tandem::nn
