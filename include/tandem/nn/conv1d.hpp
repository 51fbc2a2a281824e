// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/nn/module.hpp"
#include "tandem/ops/conv1d.hpp"

namespace tandem::nn {

/// Options of the layer. The options of the op are tandem::Conv1dOptions.
struct Conv1dOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// 1-D convolution with PyTorch's initial weights.
class Conv1d : public Module {
 public:
  /// @throws InvalidArgument  if a size is below one, or the groups do not divide the channels.
  Conv1d(std::int64_t in_channels,
         std::int64_t out_channels,
         std::int64_t kernel,
         Conv1dOptions options = {});

  /// @param x  (N, in_channels, L)
  Tensor forward(const Tensor& x);

  Parameter weight;  ///< (out_channels, in_channels / groups, kernel)
  Parameter bias;    ///< (out_channels); undefined without a bias
  TANDEM_MODULE(Conv1d, weight, bias)

 private:
  tandem::Conv1dOptions options_;
};

}  // namespace tandem::nn
