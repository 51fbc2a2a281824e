// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/models/resnet.hpp"

#include "tandem/autograd/checkpoint.hpp"
#include "tandem/nn/init.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/pool.hpp"
#include "tandem/ops/reduce.hpp"

namespace tandem::nn::models {
namespace {

/// Channels of a bottleneck's result over those of its 3x3 convolution.
constexpr std::int64_t kExpansion = 4;

/// Without bias: batch norm follows. Padded such that stride 1 keeps the image's size.
Conv2d convolution(std::int64_t in,
                   std::int64_t out,
                   std::int64_t kernel,
                   std::int64_t stride,
                   const ResNetOptions& o) {
  Conv2d conv(in,
              out,
              kernel,
              {.stride = {stride, stride},
               .padding = {kernel / 2, kernel / 2},
               .bias = false,
               .dtype = o.dtype,
               .device = o.device});
  init::kaiming_normal_(conv.weight,
                        {.fan = init::Fan::out, .nonlinearity = init::Nonlinearity::relu});
  return conv;
}

BatchNorm2d norm(std::int64_t channels, NormActivation activation, const ResNetOptions& o) {
  return BatchNorm2d(
      channels, {.sync = o.sync, .activation = activation, .dtype = o.dtype, .device = o.device});
}

std::int64_t out_channels(ResNetBlockKind kind, std::int64_t width) {
  return kind == ResNetBlockKind::basic ? width : kExpansion * width;
}

std::vector<ResNetBlock> stage(ResNetBlockKind kind,
                               std::int64_t in,
                               int number,
                               std::int64_t blocks,
                               const ResNetOptions& o) {
  const std::int64_t width = o.width << number;
  std::vector<ResNetBlock> all;
  for (std::int64_t i = 0; i < blocks; ++i) {
    all.emplace_back(kind, in, width, i == 0 && number > 0 ? 2 : 1, o);
    in = out_channels(kind, width);
  }
  return all;
}

}  // namespace

ResNetBlock::ResNetBlock(ResNetBlockKind kind,
                         std::int64_t in,
                         std::int64_t width,
                         std::int64_t stride,
                         const ResNetOptions& o)
    : conv1(kind == ResNetBlockKind::basic ? convolution(in, width, 3, stride, o)
                                           : convolution(in, width, 1, 1, o)),
      bn1(norm(width, NormActivation::relu, o)),
      conv2(convolution(width, width, 3, kind == ResNetBlockKind::basic ? 1 : stride, o)),
      bn2(norm(
          width, kind == ResNetBlockKind::basic ? NormActivation::none : NormActivation::relu, o)) {
  const std::int64_t out = out_channels(kind, width);
  if (kind == ResNetBlockKind::bottleneck) {
    conv3 = convolution(width, out, 1, 1, o);
    bn3 = norm(out, NormActivation::none, o);
  }
  if (stride != 1 || in != out)
    downsample.emplace(convolution(in, out, 1, stride, o), norm(out, NormActivation::none, o));
}

Tensor ResNetBlock::forward(const Tensor& x) {
  Tensor y = bn2(conv2(bn1(conv1(x))));
  if (conv3.has_value()) y = (*bn3)((*conv3)(y));
  return relu(y + (downsample.has_value() ? (*downsample)(x) : x));
}

ResNet::ResNet(ResNetBlockKind kind,
               const std::array<std::int64_t, 4>& blocks,
               const ResNetOptions& o)
    : conv1(o.stem == ResNetStem::imagenet ? convolution(o.channels, o.width, 7, 2, o)
                                           : convolution(o.channels, o.width, 3, 1, o)),
      bn1(norm(o.width, NormActivation::relu, o)),
      layer1(stage(kind, o.width, 0, blocks[0], o)),
      layer2(stage(kind, out_channels(kind, o.width), 1, blocks[1], o)),
      layer3(stage(kind, out_channels(kind, 2 * o.width), 2, blocks[2], o)),
      layer4(stage(kind, out_channels(kind, 4 * o.width), 3, blocks[3], o)),
      fc(out_channels(kind, 8 * o.width), o.classes, {.dtype = o.dtype, .device = o.device}),
      stem_(o.stem),
      recompute_(o.recompute) {}

Tensor ResNet::forward(const Tensor& x) {
  // Convolutions and pooling are fastest channels-last, and keep that format from here on.
  Tensor y = bn1(conv1(x.contiguous(MemoryFormat::channels_last)));
  if (stem_ == ResNetStem::imagenet)
    y = max_pool2d(y, {3, 3}, {.stride = Pair{2, 2}, .padding = {1, 1}});
  for (std::vector<ResNetBlock>* blocks : {&layer1, &layer2, &layer3, &layer4}) {
    for (ResNetBlock& block : *blocks)
      y = recompute_ ? autograd::checkpoint(block, y) : block(y);
  }
  return fc(mean(y, {2, 3}));
}

ResNet resnet18(const ResNetOptions& options) {
  return ResNet(ResNetBlockKind::basic, {2, 2, 2, 2}, options);
}

ResNet resnet34(const ResNetOptions& options) {
  return ResNet(ResNetBlockKind::basic, {3, 4, 6, 3}, options);
}

ResNet resnet50(const ResNetOptions& options) {
  return ResNet(ResNetBlockKind::bottleneck, {3, 4, 6, 3}, options);
}

}  // namespace tandem::nn::models
