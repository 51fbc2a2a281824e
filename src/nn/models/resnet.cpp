// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/models/resnet.hpp"

#include "tandem/autograd/checkpoint.hpp"
#include "tandem/core/check.hpp"
#include "tandem/nn/init.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/pool.hpp"
#include "tandem/ops/reduce.hpp"

#include "core/checked_size.hpp"

namespace tandem::nn::models {
namespace {

/// Channels of a bottleneck's result over those of its stage.
constexpr std::int64_t kExpansion = 4;
/// The width_per_group that leaves the 3x3 convolutions the channels of their stage.
constexpr std::int64_t kPlainWidth = 64;

/// Without bias: batch norm follows. Padded such that stride 1 keeps the image's size.
Conv2d convolution(std::int64_t in,
                   std::int64_t out,
                   std::int64_t kernel,
                   std::int64_t stride,
                   const ResNetOptions& o,
                   std::int64_t groups = 1) {
  Conv2d conv(in,
              out,
              kernel,
              {.stride = {stride, stride},
               .padding = {kernel / 2, kernel / 2},
               .groups = groups,
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

/// Channels between the convolutions of a block.
std::int64_t inner_channels(ResNetBlockKind kind, std::int64_t width, const ResNetOptions& o) {
  TANDEM_CHECK(o.groups >= 1 && o.width_per_group >= 1,
               "ResNet: needs groups and width_per_group of at least 1, got ",
               o.groups,
               " and ",
               o.width_per_group);
  if (kind == ResNetBlockKind::bottleneck) {
    const std::int64_t of_group =
        (CheckedSize("ResNet", width) * o.width_per_group).value() / kPlainWidth;
    return (CheckedSize("ResNet", of_group) * o.groups).value();
  }
  TANDEM_CHECK(o.groups == 1 && o.width_per_group == kPlainWidth,
               "ResNet: a basic block has groups 1 and width_per_group ",
               kPlainWidth,
               ", got ",
               o.groups,
               " and ",
               o.width_per_group,
               "; leave them out, or build it of bottlenecks");
  return width;
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
    : conv1(kind == ResNetBlockKind::basic
                ? convolution(in, inner_channels(kind, width, o), 3, stride, o)
                : convolution(in, inner_channels(kind, width, o), 1, 1, o)),
      bn1(norm(conv1.weight.size(0), NormActivation::relu, o)),
      conv2(convolution(conv1.weight.size(0),
                        conv1.weight.size(0),
                        3,
                        kind == ResNetBlockKind::basic ? 1 : stride,
                        o,
                        o.groups)),
      bn2(norm(conv1.weight.size(0),
               kind == ResNetBlockKind::basic ? NormActivation::none : NormActivation::relu,
               o)) {
  const std::int64_t out = out_channels(kind, width);
  if (kind == ResNetBlockKind::bottleneck) {
    conv3 = convolution(conv1.weight.size(0), out, 1, 1, o);
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

ResNet resnet101(const ResNetOptions& options) {
  return ResNet(ResNetBlockKind::bottleneck, {3, 4, 23, 3}, options);
}

ResNet resnext50_32x4d(ResNetOptions options) {
  options.groups = 32;
  options.width_per_group = 4;
  return resnet50(options);
}

ResNet resnext101_32x8d(ResNetOptions options) {
  options.groups = 32;
  options.width_per_group = 8;
  return resnet101(options);
}

}  // namespace tandem::nn::models
