// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/transformer.hpp"

#include "tandem/ops/arithmetic.hpp"

namespace tandem::nn {
namespace {

std::int64_t hidden_width(std::int64_t width, const TransformerBlockOptions& o) {
  return o.hidden > 0 ? o.hidden : 4 * width;
}

LayerNorm make_norm(std::int64_t width, const TransformerBlockOptions& o) {
  return LayerNorm(width, {.eps = o.eps, .dtype = o.dtype, .device = o.device});
}

}  // namespace

TransformerBlock::TransformerBlock(std::int64_t width,
                                   std::int64_t heads,
                                   TransformerBlockOptions o)
    : norm1(make_norm(width, o)),
      attention(width,
                heads,
                {.dropout = o.attention_dropout,
                 .causal = o.causal,
                 .dtype = o.dtype,
                 .device = o.device}),
      norm2(make_norm(width, o)),
      fc(width, hidden_width(width, o), {.dtype = o.dtype, .device = o.device}),
      proj(hidden_width(width, o), width, {.dtype = o.dtype, .device = o.device}),
      attention_drop(o.dropout),
      drop(o.dropout),
      norm_(o.norm),
      gelu_(o.gelu) {}

Tensor TransformerBlock::feed_forward(const Tensor& x) {
  return drop(proj(fc(x, gelu_)));
}

Tensor TransformerBlock::forward(const Tensor& x, const AttentionMasks& masks) {
  if (norm_ == NormPlace::pre) {
    const Tensor y = x + attention_drop(attention(norm1(x), masks));
    return y + feed_forward(norm2(y));
  }
  const Tensor y = norm1(x + attention_drop(attention(x, masks)));
  return norm2(y + feed_forward(y));
}

}  // namespace tandem::nn
