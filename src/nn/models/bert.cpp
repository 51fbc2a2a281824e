// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/models/bert.hpp"

#include <string>

#include "tandem/autograd/checkpoint.hpp"
#include "tandem/core/check.hpp"
#include "tandem/nn/init.hpp"
#include "tandem/ops/arithmetic.hpp"

namespace tandem::nn::models {
namespace {

constexpr double kInitializerRange = 0.02;
constexpr double kEps = 1e-12;  // of all norms

BertOptions checked(const BertOptions& o) {
  TANDEM_CHECK(o.layers > 0 && o.context > 0 && o.segments > 0,
               "Bert: sizes must be positive, got layers ",
               o.layers,
               ", context ",
               o.context,
               ", segments ",
               o.segments);
  return o;
}

EmbeddingOptions table(const BertOptions& o) {
  return {.dtype = o.dtype, .device = o.device};
}

LayerNorm make_norm(const BertOptions& o) {
  return LayerNorm(o.width, {.eps = kEps, .dtype = o.dtype, .device = o.device});
}

BertOptions without_pooler(BertOptions o) {
  o.pooler = false;
  return o;
}

/// Gives all weights and biases of a module their first values.
void start(Module& module) {
  for (NamedTensor& p : module.named_parameters()) {
    if (p.tensor.ndim() == 2)
      init::normal_(p.tensor, 0, kInitializerRange);
    else if (p.name.ends_with("bias"))
      init::zeros_(p.tensor);
  }
}

}  // namespace

BertOptions bert_options(std::string_view name) {
  if (name == "bert-base") return {};
  if (name == "bert-large") return {.layers = 24, .width = 1024, .heads = 16};
  throw InvalidArgument("bert_options: there is no size '" + std::string(name) +
                        "'; the sizes are bert-base and bert-large");
}

Bert::Bert(const BertOptions& o)
    : embed(checked(o).vocabulary, o.width, table(o)),
      position(o.context, o.width, table(o)),
      segment(o.segments, o.width, table(o)),
      norm(make_norm(o)),
      drop(o.dropout),
      context_(o.context),
      recompute_(o.recompute) {
  for (std::int64_t i = 0; i < o.layers; ++i) {
    blocks.emplace_back(o.width,
                        o.heads,
                        TransformerBlockOptions{.norm = NormPlace::post,
                                                .dropout = o.dropout,
                                                .attention_dropout = o.dropout,
                                                .eps = kEps,
                                                .dtype = o.dtype,
                                                .device = o.device});
  }
  if (o.pooler)
    pooler.emplace(o.width, o.width, LinearOptions{.dtype = o.dtype, .device = o.device});
  start(*this);
}

BertOutput Bert::forward(const Tensor& index, const Tensor& segments, const Tensor& padding) {
  TANDEM_CHECK(index.ndim() == 2 && index.size(1) > 0 && index.size(1) <= context_,
               "Bert: needs (N, L) with L from 1 to the context of ",
               context_,
               ", got ",
               index.describe());
  Tensor x = embed(index) + position.weight.narrow(0, 0, index.size(1));
  x = x + (segments.defined() ? segment(segments) : segment.weight.narrow(0, 0, 1));
  x = drop(norm(x));
  const AttentionMasks masks{.key_padding = padding};
  for (TransformerBlock& block : blocks)
    x = recompute_ ? autograd::checkpoint(block, x, masks) : block(x, masks);
  return {x, pooler.has_value() ? tanh((*pooler)(x.select(1, 0))) : Tensor()};
}

BertMaskedLm::BertMaskedLm(const BertOptions& o)
    : Bert(without_pooler(o)),
      transform(o.width, o.width, {.dtype = o.dtype, .device = o.device}),
      transform_norm(make_norm(o)),
      decoder(o.width, o.vocabulary, {.dtype = o.dtype, .device = o.device}) {
  start(transform);
  init::zeros_(decoder.bias);
  decoder.weight = embed.weight;
}

Tensor BertMaskedLm::forward(const Tensor& index, const Tensor& segments, const Tensor& padding) {
  const Tensor hidden = Bert::forward(index, segments, padding).hidden;
  return decoder(transform_norm(transform(hidden, Gelu::exact)));
}

}  // namespace tandem::nn::models
