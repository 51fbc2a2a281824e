// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/nn/batch_norm.hpp"
#include "tandem/nn/conv2d.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/nn/sequential.hpp"

namespace tandem::nn::models {

/// How a residual network begins.
enum class ResNetStem : std::uint8_t {
  imagenet,  ///< 7x7 of stride 2 and max pooling: a quarter of the image's height and width
  cifar,     ///< 3x3 of stride 1, no pooling: for images of 32 x 32
};

/// What a block of a residual network is made of.
enum class ResNetBlockKind : std::uint8_t {
  basic,       ///< two 3x3 convolutions
  bottleneck,  ///< 1x1, 3x3 (which has the stride) and 1x1 of four times the channels
};

struct ResNetOptions {
  std::int64_t channels = 3;
  std::int64_t classes = 1000;
  std::int64_t width = 64;  ///< channels of the stem and the first stage
  std::int64_t groups = 1;  ///< of the 3x3 convolutions; more than one only in bottlenecks
  /// The 3x3 convolutions of a bottleneck have width_per_group / 64 · groups times their stage's
  /// channels, rounded down before `groups`. Only bottlenecks have another one than 64.
  std::int64_t width_per_group = 64;
  ResNetStem stem = ResNetStem::imagenet;
  BatchNormSync sync = BatchNormSync::synchronised;
  bool recompute = false;  ///< backward computes the blocks' activations again (see checkpoint)
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// Convolutions with batch norm, added to what came in.
class ResNetBlock : public Module {
 public:
  /// @param width   channels of the stage: those of the result of a basic block, and a quarter of
  ///                those of a bottleneck. @param stride  of the block.
  /// @throws InvalidArgument  a basic block with groups or width_per_group, or these do not divide
  ///                          the channels.
  ResNetBlock(ResNetBlockKind kind,
              std::int64_t in,
              std::int64_t width,
              std::int64_t stride,
              const ResNetOptions& options);
  Tensor forward(const Tensor& x);

  Conv2d conv1;
  BatchNorm2d bn1;
  Conv2d conv2;
  BatchNorm2d bn2;
  std::optional<Conv2d> conv3;     ///< of a bottleneck
  std::optional<BatchNorm2d> bn3;  ///< of a bottleneck
  /// Where the result has another shape than x.
  std::optional<Sequential<Conv2d, BatchNorm2d>> downsample;
  TANDEM_MODULE(ResNetBlock, conv1, bn1, conv2, bn2, conv3, bn3, downsample)
};

/// Residual network with torchvision's structure, names and initial weights.
///
/// @source He et al., "Deep residual learning for image recognition", CVPR 2016; the stride of a
///         bottleneck is its 3x3 convolution's, as in torchvision. With groups: Xie et al.,
///         "Aggregated residual transformations for deep neural networks", CVPR 2017.
class ResNet : public Module {
 public:
  /// @param blocks  of each stage. @throws InvalidArgument  as ResNetBlock.
  ResNet(ResNetBlockKind kind,
         const std::array<std::int64_t, 4>& blocks,
         const ResNetOptions& options = {});

  /// @param x  (N, channels, H, W). @return (N, classes): logits.
  Tensor forward(const Tensor& x);

  Conv2d conv1;
  BatchNorm2d bn1;
  std::vector<ResNetBlock> layer1, layer2, layer3, layer4;
  Linear fc;
  TANDEM_MODULE(ResNet, conv1, bn1, layer1, layer2, layer3, layer4, fc)

 private:
  ResNetStem stem_;
  bool recompute_;
};

ResNet resnet18(const ResNetOptions& options = {});
ResNet resnet34(const ResNetOptions& options = {});
ResNet resnet50(const ResNetOptions& options = {});
ResNet resnet101(const ResNetOptions& options = {});
/// ResNeXt of 32 groups of 4 channels. The groups and width_per_group of `options` do not count.
ResNet resnext50_32x4d(ResNetOptions options = {});
/// ResNeXt of 32 groups of 8 channels. The groups and width_per_group of `options` do not count.
ResNet resnext101_32x8d(ResNetOptions options = {});

}  // namespace tandem::nn::models
