// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/nn/linear.hpp"
#include "tandem/nn/module.hpp"

namespace tandem::nn {

struct MultiheadAttentionOptions {
  double dropout = 0;   ///< probability of dropping an attention weight, in training
  bool bias = true;     ///< whether all projections have a bias
  bool causal = false;  ///< query i sees keys 0 .. i (is_causal, an argument of PyTorch's forward)
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// Hides keys from queries. As in PyTorch's module, true means hidden.
struct AttentionMasks {
  Tensor key_padding{};  ///< bool (N, keys), true for padding; undefined: no padding
  /// bool, true where a key is hidden, or numbers that are added to the scores. The shape is
  /// (queries, keys), or has more dimensions, up to (N, heads, queries, keys).
  Tensor attention{};
};

/// Multi-head attention with input and output projections, and with PyTorch's parameters and
/// initial weights. Sequences are (N, L, embed_dim), as with PyTorch's batch_first.
class MultiheadAttention : public Module {
 public:
  /// @throws InvalidArgument  if `embed_dim` is not a positive multiple of `num_heads`.
  MultiheadAttention(std::int64_t embed_dim,
                     std::int64_t num_heads,
                     MultiheadAttentionOptions options = {});

  /// Self-attention.
  ///
  /// @param x  (N, L, embed_dim)
  Tensor forward(const Tensor& x, const AttentionMasks& masks = {});
  /// @param query       (N, L, embed_dim)
  /// @param key, value  (N, S, embed_dim)
  Tensor forward(const Tensor& query,
                 const Tensor& key,
                 const Tensor& value,
                 const AttentionMasks& masks = {});

  Parameter in_proj_weight;  ///< (3 embed_dim, embed_dim), for queries, keys and values
  Parameter in_proj_bias;    ///< (3 embed_dim); undefined without a bias
  Linear out_proj;
  TANDEM_MODULE(MultiheadAttention, in_proj_weight, in_proj_bias, out_proj)

 private:
  std::int64_t num_heads_;
  double dropout_;
  bool causal_;
};

}  // namespace tandem::nn
