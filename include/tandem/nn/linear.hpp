// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/nn/module.hpp"
#include "tandem/ops/activation.hpp"

namespace tandem::nn {

struct LinearOptions {
  bool bias = true;
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// x @ weight.t() + bias over the last dimension, with PyTorch's initial weights.
class Linear : public Module {
 public:
  /// @throws InvalidArgument  if a size is below one.
  Linear(std::int64_t in_features, std::int64_t out_features, LinearOptions options = {});

  /// @param x  (..., in_features)
  Tensor forward(const Tensor& x);
  /// gelu(forward(x)) in one op (see linear_gelu).
  ///
  /// @param then  the form of the GELU
  Tensor forward(const Tensor& x, Gelu then);

  Parameter weight;  ///< (out_features, in_features)
  Parameter bias;    ///< (out_features); undefined without a bias
  TANDEM_MODULE(Linear, weight, bias)
};

}  // namespace tandem::nn
