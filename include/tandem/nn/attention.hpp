// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/nn/linear.hpp"
#include "tandem/nn/module.hpp"

namespace tandem::nn {

struct MultiheadAttentionOptions {
  double dropout = 0;   ///< of probabilities, in training
  bool bias = true;     ///< of all projections
  bool causal = false;  ///< query i sees keys 0 .. i (PyTorch's is_causal, at the call)
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// What queries do not see, in PyTorch's sense for this module: true hides.
struct AttentionMasks {
  Tensor key_padding{};  ///< bool (N, keys): true for padding; undefined: none
  Tensor attention{};    ///< bool (queries, keys), true where hidden, or numbers that are added to
                         ///< scores; or more dimensions, up to (N, heads, queries, keys)
};

/// Attention of several heads between projections, with PyTorch's parameters and initial weights;
/// sequences are (N, L, embed_dim): its batch_first.
class MultiheadAttention : public Module {
 public:
  /// @throws InvalidArgument  embed_dim is no positive multiple of num_heads.
  MultiheadAttention(std::int64_t embed_dim,
                     std::int64_t num_heads,
                     MultiheadAttentionOptions options = {});

  /// Self-attention. @param x  (N, L, embed_dim).
  Tensor forward(const Tensor& x, const AttentionMasks& masks = {});
  /// @param query  (N, L, embed_dim). @param key, value  (N, S, embed_dim).
  Tensor forward(const Tensor& query,
                 const Tensor& key,
                 const Tensor& value,
                 const AttentionMasks& masks = {});

  Parameter in_proj_weight;  ///< (3 embed_dim, embed_dim): of queries, keys and values
  Parameter in_proj_bias;    ///< (3 embed_dim); undefined without one
  Linear out_proj;
  TANDEM_MODULE(MultiheadAttention, in_proj_weight, in_proj_bias, out_proj)

 private:
  std::int64_t num_heads_;
  double dropout_;
  bool causal_;
};

}  // namespace tandem::nn
