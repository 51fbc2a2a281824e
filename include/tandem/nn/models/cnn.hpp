// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/nn/batch_norm.hpp"
#include "tandem/nn/conv2d.hpp"
#include "tandem/nn/linear.hpp"

namespace tandem::nn::models {

struct CnnSmallOptions {
  std::int64_t channels = 1;
  Pair size{28, 28};  ///< height and width of the images
  std::int64_t hidden = 128;
  std::int64_t classes = 10;
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// Two 3x3 convolutions of 16 and 32 channels, each with ReLU and 2x2 max pooling, then a hidden
/// layer.
class CnnSmall : public Module {
 public:
  /// @throws InvalidArgument  images smaller than 4x4.
  explicit CnnSmall(const CnnSmallOptions& options = {});

  /// @param x  (N, channels, height, width). @return (N, classes): logits.
  Tensor forward(const Tensor& x);

  Conv2d conv1, conv2;
  Linear hidden, head;
  TANDEM_MODULE(CnnSmall, conv1, conv2, hidden, head)
};

struct CnnOptions {
  std::int64_t channels = 3;
  std::int64_t classes = 10;
  BatchNormSync sync = BatchNormSync::synchronised;
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// Five 3x3 convolutions of 32, 32, 64, 64 and 128 channels with batch norm and ReLU, max pooling
/// before the third and the fifth; then the mean over the image and a linear layer.
class Cnn : public Module {
 public:
  explicit Cnn(const CnnOptions& options = {});

  /// @param x  (N, channels, H, W), H and W at least 4. @return (N, classes): logits.
  Tensor forward(const Tensor& x);

  /// A convolution with batch norm and ReLU.
  struct Block : Module {
    Conv2d conv;
    BatchNorm2d norm;
    Block(std::int64_t in, std::int64_t out, const CnnOptions& options);
    Tensor forward(const Tensor& x);
    TANDEM_MODULE(Block, conv, norm)
  };

  std::vector<Block> blocks;
  Linear head;
  TANDEM_MODULE(Cnn, blocks, head)
};

}  // namespace tandem::nn::models
