// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/models/mlp.hpp"

#include "tandem/core/check.hpp"
#include "tandem/ops/activation.hpp"

namespace tandem::nn::models {

Mlp::Mlp(const MlpOptions& options) {
  TANDEM_CHECK(options.sizes.size() >= 2,
               "Mlp: needs at least the sizes of input and output, got ",
               options.sizes.size(),
               " sizes");
  for (std::size_t i = 0; i + 1 < options.sizes.size(); ++i) {
    layers.emplace_back(options.sizes[i],
                        options.sizes[i + 1],
                        LinearOptions{.dtype = options.dtype, .device = options.device});
  }
}

Tensor Mlp::forward(const Tensor& x) {
  Tensor y = layers.front()(x.flatten(1));
  for (std::size_t i = 1; i < layers.size(); ++i)
    y = layers[i](relu(y));
  return y;
}

}  // namespace tandem::nn::models
