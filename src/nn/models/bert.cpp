// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/models/bert.hpp"

#include <string>

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
      norm(o.width, {.eps = kEps, .dtype = o.dtype, .device = o.device}),
      drop(o.dropout),
      pooler(o.width, o.width, {.dtype = o.dtype, .device = o.device}),
      context_(o.context) {
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
  for (NamedTensor& p : named_parameters()) {
    if (p.tensor.ndim() == 2)
      init::normal_(p.tensor, 0, kInitializerRange);
    else if (p.name.ends_with("bias"))
      init::zeros_(p.tensor);
  }
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
  for (TransformerBlock& block : blocks)
    x = block(x, AttentionMasks{.key_padding = padding});
  return {x, tanh(pooler(x.select(1, 0)))};
}

}  // namespace tandem::nn::models
