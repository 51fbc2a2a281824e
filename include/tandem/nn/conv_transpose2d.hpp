// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/nn/module.hpp"
#include "tandem/ops/conv.hpp"
#include "tandem/ops/conv_transpose2d.hpp"

namespace tandem::nn {

/// Options of the layer. The options of the op are tandem::ConvTranspose2dOptions.
struct ConvTranspose2dOptions {
  Pair stride{1, 1};
  Pair padding{0, 0};
  Pair output_padding{0, 0};
  Pair dilation{1, 1};
  std::int64_t groups = 1;
  bool bias = true;
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// Transposed 2-D convolution with PyTorch's initial weights. Keeps the memory format of its input.
class ConvTranspose2d : public Module {
 public:
  /// @throws InvalidArgument  if a size is below one, or the groups do not divide the channels.
  ConvTranspose2d(std::int64_t in_channels,
                  std::int64_t out_channels,
                  Pair kernel,
                  ConvTranspose2dOptions options = {});
  ConvTranspose2d(std::int64_t in_channels,
                  std::int64_t out_channels,
                  std::int64_t kernel,
                  ConvTranspose2dOptions options = {})
      : ConvTranspose2d(in_channels, out_channels, Pair{kernel, kernel}, options) {}

  /// @param x  (N, in_channels, H, W)
  Tensor forward(const Tensor& x);

  Parameter weight;  ///< (in_channels, out_channels / groups, kH, kW)
  Parameter bias;    ///< (out_channels); undefined without a bias
  TANDEM_MODULE(ConvTranspose2d, weight, bias)

 private:
  tandem::ConvTranspose2dOptions options_;
};

}  // namespace tandem::nn
