// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/linear.hpp"

#include "tandem/core/check.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/ops/linear_gelu.hpp"

#include "nn/default_init.hpp"

namespace tandem::nn {

Linear::Linear(std::int64_t in_features, std::int64_t out_features, LinearOptions options) {
  TANDEM_CHECK(in_features > 0 && out_features > 0,
               "Linear: sizes must be positive, got in ",
               in_features,
               ", out ",
               out_features);
  const TensorOptions tensor_options{.dtype = options.dtype, .device = options.device};
  weight = default_weight({out_features, in_features}, tensor_options);
  if (options.bias) bias = default_bias(weight, tensor_options);
}

Tensor Linear::forward(const Tensor& x) {
  return linear(x, weight, bias);
}

Tensor Linear::forward(const Tensor& x, Gelu then) {
  return linear_gelu(x, weight, bias, then);
}

}  // namespace tandem::nn
