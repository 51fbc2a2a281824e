// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/nn/linear.hpp"

namespace tandem::nn::models {

struct MlpOptions {
  std::vector<std::int64_t> sizes{
      784, 1024, 1024, 10};  ///< of the input, the hidden layers, the output
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// Linear layers with ReLU between them.
class Mlp : public Module {
 public:
  /// @throws InvalidArgument  fewer than two sizes.
  explicit Mlp(const MlpOptions& options = {});

  /// @param x  (N, ...), flattened to (N, sizes[0]).
  /// @return (N, sizes.back()): logits.
  Tensor forward(const Tensor& x);

  std::vector<Linear> layers;
  TANDEM_MODULE(Mlp, layers)
};

}  // namespace tandem::nn::models
