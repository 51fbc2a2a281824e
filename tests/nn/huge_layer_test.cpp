// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Layers and models of sizes that no memory holds: an error, before anything is written.

#include <gtest/gtest.h>

#include "tandem/nn/conv2d.hpp"
#include "tandem/nn/embedding.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/nn/models/bert.hpp"
#include "tandem/nn/models/cnn.hpp"
#include "tandem/nn/models/gpt.hpp"
#include "tandem/nn/models/mlp.hpp"
#include "tandem/nn/models/resnet.hpp"
#include "tandem/nn/models/vgg.hpp"

namespace tandem::nn {
namespace {

constexpr std::int64_t huge(int exponent) {
  return std::int64_t{1} << exponent;
}

TEST(HugeLayerTest, Layers) {
  EXPECT_THROW(Linear(huge(62), 4), InvalidArgument);
  EXPECT_THROW(Conv2d(huge(31), huge(31), 3), InvalidArgument);
  EXPECT_THROW(Embedding(huge(58), 16), InvalidArgument);
  EXPECT_THROW(TransformerBlock(huge(62), 2), InvalidArgument);
}

TEST(HugeLayerTest, Models) {
  for (const std::int64_t context : {huge(58), huge(58) + 1, huge(58) + 64}) {
    EXPECT_THROW(
        models::Gpt({.layers = 1, .width = 16, .heads = 2, .context = context, .vocabulary = 64}),
        InvalidArgument);
  }
  EXPECT_THROW(
      models::Gpt({.layers = 1, .width = huge(62), .heads = 2, .context = 8, .vocabulary = 64}),
      InvalidArgument);
  EXPECT_THROW(models::Bert({.width = huge(62)}), InvalidArgument);
  EXPECT_THROW(models::Mlp({.sizes = {huge(60), 16}}), InvalidArgument);
  EXPECT_THROW(models::CnnSmall({.size = {huge(62), huge(62)}}), InvalidArgument);
  EXPECT_THROW(models::ResNet(models::ResNetBlockKind::basic, {1, 1, 1, 1}, {.width = huge(61)}),
               InvalidArgument);
  EXPECT_THROW(
      models::ResNet(models::ResNetBlockKind::bottleneck, {1, 1, 1, 1}, {.groups = huge(58)}),
      InvalidArgument);
  EXPECT_THROW(models::Vgg16({.width = 8, .pooled = huge(31)}), InvalidArgument);
}

}  // namespace
}  // namespace tandem::nn
