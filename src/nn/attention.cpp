// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/attention.hpp"

#include <cmath>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/nn/init.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/attention.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::nn {
namespace {

std::int64_t checked_width(std::int64_t embed_dim, std::int64_t num_heads) {
  TANDEM_CHECK(embed_dim > 0 && num_heads > 0 && embed_dim % num_heads == 0,
               "MultiheadAttention: embed_dim ",
               embed_dim,
               " is not a multiple of ",
               num_heads,
               " heads");
  return embed_dim;
}

void check_sequence(const Tensor& x, const char* what, std::int64_t width) {
  TANDEM_CHECK(x.ndim() == 3 && x.size(2) == width,
               "MultiheadAttention: ",
               what,
               " must be (N, length, ",
               width,
               "), got ",
               x.describe());
}

Tensor opposite(const Tensor& hides) {
  return eq(hides, 0.0);
}

/// The mask of the op: true shows, numbers are added.
Tensor joined(const AttentionMasks& masks, DType dtype) {
  const Tensor& attention = masks.attention;
  const Tensor& padding = masks.key_padding;
  if (padding.defined()) {
    TANDEM_CHECK(padding.dtype() == DType::boolean && padding.ndim() == 2,
                 "MultiheadAttention: key_padding must be bool (N, keys), got ",
                 padding.describe());
  }
  const bool hides = attention.defined() && attention.dtype() == DType::boolean;
  if (!padding.defined()) return hides ? opposite(attention) : attention;
  const Tensor keys = padding.reshape({padding.size(0), 1, 1, padding.size(1)});
  if (!attention.defined()) return opposite(keys);
  if (hides) return opposite(maximum(keys, attention));
  const Tensor nothing = zeros(keys.shape(), {.dtype = dtype, .device = keys.device()});
  return where(keys, nothing - HUGE_VAL, nothing) + attention;
}

}  // namespace

MultiheadAttention::MultiheadAttention(std::int64_t embed_dim,
                                       std::int64_t num_heads,
                                       MultiheadAttentionOptions options)
    : out_proj(checked_width(embed_dim, num_heads),
               embed_dim,
               {.bias = options.bias, .dtype = options.dtype, .device = options.device}),
      num_heads_(num_heads),
      dropout_(options.dropout),
      causal_(options.causal) {
  const TensorOptions tensor_options{.dtype = options.dtype, .device = options.device};
  in_proj_weight = empty({3 * embed_dim, embed_dim}, tensor_options);
  init::xavier_uniform_(in_proj_weight);
  if (!options.bias) return;
  in_proj_bias = zeros({3 * embed_dim}, tensor_options);
  init::zeros_(out_proj.bias);
}

Tensor MultiheadAttention::forward(const Tensor& x, const AttentionMasks& masks) {
  check_sequence(x, "x", in_proj_weight.size(1));
  const Tensor y = packed_attention(linear(x, in_proj_weight, in_proj_bias),
                                    num_heads_,
                                    joined(masks, x.dtype()),
                                    {.causal = causal_, .dropout_p = is_training() ? dropout_ : 0});
  return out_proj(y);
}

Tensor MultiheadAttention::forward(const Tensor& query,
                                   const Tensor& key,
                                   const Tensor& value,
                                   const AttentionMasks& masks) {
  const std::int64_t width = in_proj_weight.size(1);
  check_sequence(query, "query", width);
  check_sequence(key, "key", width);
  check_sequence(value, "value", width);
  const auto heads = [&](const Tensor& x, std::int64_t part) {
    const Tensor y =
        linear(x,
               in_proj_weight.narrow(0, part * width, width),
               in_proj_bias.defined() ? in_proj_bias.narrow(0, part * width, width) : Tensor());
    return y.reshape({x.size(0), x.size(1), num_heads_, width / num_heads_}).transpose(1, 2);
  };
  const Tensor y =
      scaled_dot_product_attention(heads(query, 0),
                                   heads(key, 1),
                                   heads(value, 2),
                                   joined(masks, query.dtype()),
                                   {.causal = causal_, .dropout_p = is_training() ? dropout_ : 0});
  return out_proj(y.transpose(1, 2).reshape({query.size(0), query.size(1), width}));
}

}  // namespace tandem::nn
