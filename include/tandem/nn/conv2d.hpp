// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/nn/module.hpp"
#include "tandem/ops/conv.hpp"

namespace tandem::nn {

/// Options of the layer. The options of the op are tandem::Conv2dOptions.
struct Conv2dOptions {
  Pair stride{1, 1};
  Pair padding{0, 0};
  Pair dilation{1, 1};
  std::int64_t groups = 1;
  bool bias = true;
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// 2-D convolution with PyTorch's initial weights. Keeps the memory format of its input.
class Conv2d : public Module {
 public:
  /// @throws InvalidArgument  if a size is below one, or the groups do not divide the channels.
  Conv2d(std::int64_t in_channels,
         std::int64_t out_channels,
         Pair kernel,
         Conv2dOptions options = {});
  Conv2d(std::int64_t in_channels,
         std::int64_t out_channels,
         std::int64_t kernel,
         Conv2dOptions options = {})
      : Conv2d(in_channels, out_channels, Pair{kernel, kernel}, options) {}

  /// @param x  (N, in_channels, H, W)
  Tensor forward(const Tensor& x);

  Parameter weight;  ///< (out_channels, in_channels / groups, kH, kW)
  Parameter bias;    ///< (out_channels); undefined without a bias
  TANDEM_MODULE(Conv2d, weight, bias)

 private:
  tandem::Conv2dOptions options_;
};

}  // namespace tandem::nn
