// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/models/vgg.hpp"

#include <string>

#include "tandem/core/check.hpp"
#include "tandem/nn/init.hpp"
#include "tandem/ops/pool.hpp"

#include "core/checked_size.hpp"

namespace tandem::nn::models {
namespace {

constexpr std::int64_t kSmallest = 32;  ///< rows and columns that five poolings leave one of

/// A stage of convolutions, which pooling ends.
struct Stage {
  std::int64_t convolutions;
  std::int64_t widths;  ///< channels, in widths of the first stage
};
constexpr Stage kStages[] = {{2, 1}, {2, 2}, {3, 4}, {3, 8}, {3, 8}};

Conv2d convolution(std::int64_t in, std::int64_t out, const VggOptions& o) {
  Conv2d conv(in, out, 3, {.padding = {1, 1}, .dtype = o.dtype, .device = o.device});
  init::kaiming_normal_(conv.weight,
                        {.fan = init::Fan::out, .nonlinearity = init::Nonlinearity::relu});
  init::zeros_(conv.bias);
  return conv;
}

Linear linear(std::int64_t in, std::int64_t out, const VggOptions& o) {
  Linear layer(in, out, {.dtype = o.dtype, .device = o.device});
  init::normal_(layer.weight, 0, 0.01);
  init::zeros_(layer.bias);
  return layer;
}

/// The number of an image's features after pooling.
std::int64_t pooled_features(const VggOptions& o) {
  return (CheckedSize("Vgg16", o.pooled) * o.pooled * o.width * 8).value();
}

}  // namespace

VggFeatures::VggFeatures(const VggOptions& o) {
  const std::int64_t layers = o.norm == VggNorm::batch ? 3 : 2;  // of a convolution, with its ReLU
  std::int64_t in = o.channels, position = 0;
  for (const Stage& stage : kStages) {
    const std::int64_t out = stage.widths * o.width;
    for (std::int64_t i = 0; i < stage.convolutions; ++i) {
      Unit unit{position, convolution(in, out, o), {}, i + 1 == stage.convolutions};
      if (o.norm == VggNorm::batch) {
        unit.norm.emplace(out,
                          BatchNormOptions{.sync = o.sync,
                                           .activation = NormActivation::relu,
                                           .dtype = o.dtype,
                                           .device = o.device});
      }
      position += layers + (unit.pool ? 1 : 0);
      units.push_back(std::move(unit));
      in = out;
    }
  }
}

Tensor VggFeatures::forward(const Tensor& x) {
  // Convolutions and pooling are fastest channels-last, and keep that format from here on.
  Tensor y = x.contiguous(MemoryFormat::channels_last);
  for (Unit& unit : units) {
    y = unit.conv(y);
    y = unit.norm.has_value() ? (*unit.norm)(y) : relu(y);
    if (unit.pool) y = max_pool2d(y, {2, 2});
  }
  return y;
}

void VggFeatures::visit_members(MemberVisitor& visitor) {
  for (Unit& unit : units) {
    visitor.visit_module(std::to_string(unit.position), unit.conv);
    if (unit.norm.has_value()) visitor.visit_module(std::to_string(unit.position + 1), *unit.norm);
  }
}

Vgg16::Vgg16(const VggOptions& o)
    : features(o),
      classifier{linear(pooled_features(o), o.hidden, o),
                 ReLU(),
                 Dropout(o.dropout),
                 linear(o.hidden, o.hidden, o),
                 ReLU(),
                 Dropout(o.dropout),
                 linear(o.hidden, o.classes, o)},
      pooled_(o.pooled) {}

Tensor Vgg16::forward(const Tensor& x) {
  TANDEM_CHECK(x.ndim() == 4 && x.size(2) >= kSmallest && x.size(3) >= kSmallest,
               "Vgg16: needs images (N, C, H, W) of at least ",
               kSmallest,
               " x ",
               kSmallest,
               ", got ",
               x.shape());
  return classifier(adaptive_avg_pool2d(features(x), {pooled_, pooled_}).flatten(1));
}

}  // namespace tandem::nn::models
