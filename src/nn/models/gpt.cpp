// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/models/gpt.hpp"

#include <cmath>
#include <string>

#include "tandem/autograd/checkpoint.hpp"
#include "tandem/core/check.hpp"
#include "tandem/nn/init.hpp"
#include "tandem/ops/arithmetic.hpp"

namespace tandem::nn::models {
namespace {

constexpr double kDeviation = 0.02;

GptOptions checked(const GptOptions& o) {
  TANDEM_CHECK(o.layers > 0 && o.width > 0 && o.heads > 0 && o.context > 0 && o.vocabulary > 0,
               "Gpt: sizes must be positive, got layers ",
               o.layers,
               ", width ",
               o.width,
               ", heads ",
               o.heads,
               ", context ",
               o.context,
               ", vocabulary ",
               o.vocabulary);
  return o;
}

void start_block(TransformerBlock& block, std::int64_t layers) {
  const double last = kDeviation / std::sqrt(2.0 * static_cast<double>(layers));
  init::normal_(block.attention.in_proj_weight, 0, kDeviation);
  init::normal_(block.attention.out_proj.weight, 0, last);
  init::normal_(block.fc.weight, 0, kDeviation);
  init::normal_(block.proj.weight, 0, last);
  for (Tensor* bias : {static_cast<Tensor*>(&block.attention.in_proj_bias),
                       static_cast<Tensor*>(&block.attention.out_proj.bias),
                       static_cast<Tensor*>(&block.fc.bias),
                       static_cast<Tensor*>(&block.proj.bias)})
    init::zeros_(*bias);
}

}  // namespace

GptOptions gpt_options(std::string_view name) {
  struct Size {
    std::string_view name;
    std::int64_t layers, width, heads;
  };
  for (const Size& size : {Size{"gpt2", 12, 768, 12},
                           Size{"gpt2-medium", 24, 1024, 16},
                           Size{"gpt2-large", 36, 1280, 20},
                           Size{"gpt2-xl", 48, 1600, 25}}) {
    if (size.name == name) return {.layers = size.layers, .width = size.width, .heads = size.heads};
  }
  throw InvalidArgument("gpt_options: there is no size '" + std::string(name) +
                        "'; the sizes are gpt2, gpt2-medium, gpt2-large and gpt2-xl");
}

Gpt::Gpt(const GptOptions& o)
    : embed(checked(o).vocabulary, o.width, {.dtype = o.dtype, .device = o.device}),
      position(o.context, o.width, {.dtype = o.dtype, .device = o.device}),
      drop(o.dropout),
      norm(o.width, {.dtype = o.dtype, .device = o.device}),
      head(o.width, o.vocabulary, {.bias = false, .dtype = o.dtype, .device = o.device}),
      options_(o) {
  init::normal_(embed.weight, 0, kDeviation);
  init::normal_(position.weight, 0, kDeviation);
  for (std::int64_t i = 0; i < o.layers; ++i) {
    blocks.emplace_back(o.width,
                        o.heads,
                        TransformerBlockOptions{.causal = true,
                                                .gelu = Gelu::tanh,
                                                .dropout = o.dropout,
                                                .attention_dropout = o.dropout,
                                                .dtype = o.dtype,
                                                .device = o.device});
    start_block(blocks.back(), o.layers);
  }
  if (o.tied)
    head.weight = embed.weight;
  else
    init::normal_(head.weight, 0, kDeviation);
}

Tensor Gpt::forward(const Tensor& index) {
  TANDEM_CHECK(index.ndim() == 2 && index.size(1) <= options_.context,
               "Gpt: needs (N, L) with L at most the context of ",
               options_.context,
               ", got ",
               index.describe());
  Tensor x = drop(embed(index) + position.weight.narrow(0, 0, index.size(1)));
  for (TransformerBlock& block : blocks)
    x = options_.recompute ? autograd::checkpoint(block, x) : block(x);
  return head(norm(x));
}

}  // namespace tandem::nn::models
