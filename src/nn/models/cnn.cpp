// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/models/cnn.hpp"

#include "tandem/core/check.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/pool.hpp"
#include "tandem/ops/reduce.hpp"

#include "core/checked_size.hpp"

namespace tandem::nn::models {
namespace {

/// 3x3 with padding: the image keeps its size.
Conv2d conv3x3(std::int64_t in, std::int64_t out, DType dtype, Device device) {
  return Conv2d(in, out, 3, {.padding = {1, 1}, .dtype = dtype, .device = device});
}

/// Features of an image after two rounds of pooling.
std::int64_t features(const CnnSmallOptions& o) {
  TANDEM_CHECK(o.size[0] >= 4 && o.size[1] >= 4,
               "CnnSmall: images must be at least 4 x 4, got ",
               o.size[0],
               " x ",
               o.size[1]);
  return (CheckedSize("CnnSmall", o.size[0] / 4) * (o.size[1] / 4) * 32).value();
}

}  // namespace

CnnSmall::CnnSmall(const CnnSmallOptions& o)
    : conv1(conv3x3(o.channels, 16, o.dtype, o.device)),
      conv2(conv3x3(16, 32, o.dtype, o.device)),
      hidden(features(o), o.hidden, {.dtype = o.dtype, .device = o.device}),
      head(o.hidden, o.classes, {.dtype = o.dtype, .device = o.device}) {}

Tensor CnnSmall::forward(const Tensor& x) {
  // Convolutions and pooling are fastest channels-last, and keep that format from here on.
  Tensor y = x.contiguous(MemoryFormat::channels_last);
  y = max_pool2d(relu(conv1(y)), {2, 2});
  y = max_pool2d(relu(conv2(y)), {2, 2});
  return head(relu(hidden(y.flatten(1))));
}

Cnn::Block::Block(std::int64_t in, std::int64_t out, const CnnOptions& o)
    : conv(conv3x3(in, out, o.dtype, o.device)),
      norm(out,
           {.sync = o.sync,
            .activation = NormActivation::relu,
            .dtype = o.dtype,
            .device = o.device}) {}

Tensor Cnn::Block::forward(const Tensor& x) {
  return norm(conv(x));
}

Cnn::Cnn(const CnnOptions& o) : head(128, o.classes, {.dtype = o.dtype, .device = o.device}) {
  std::int64_t in = o.channels;
  for (const std::int64_t out : {32, 32, 64, 64, 128}) {
    blocks.emplace_back(in, out, o);
    in = out;
  }
}

Tensor Cnn::forward(const Tensor& x) {
  Tensor y = x.contiguous(MemoryFormat::channels_last);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i == 2 || i == 4) y = max_pool2d(y, {2, 2});
    y = blocks[i](y);
  }
  return head(mean(y, {2, 3}));
}

}  // namespace tandem::nn::models
