// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

struct AttentionOptions {
  bool causal = false;                         ///< query i sees keys 0 .. i
  std::optional<double> scale = std::nullopt;  ///< of scores; none: 1 / sqrt(dim)
  double dropout_p = 0;                        ///< of probabilities; masks as of dropout
};

/// softmax(q @ k.t() * scale + mask) @ v: (..., heads, queries, dim of v).
///
/// A query that sees no key gives zeros. Differentiable in q, k and v, twice too.
/// @param q     (..., heads, queries, dim); views of one projection are read where they lie.
/// @param k, v  (..., heads, keys, dim); leading sizes broadcast.
/// @param mask  broadcasts to (..., heads, queries, keys): bool, true where a query sees a key, or
///              numbers of q's dtype that are added to scores; undefined: none.
/// @throws InvalidArgument  shapes or dtypes do not fit, dropout_p outside [0, 1), or a mask that
///                          requires grad.
/// @cost   on the host a thread has one block of scores in memory, on a GPU at most 2^24 scores are
///         there at once, or a query's; backward makes them again.
/// @source Dao et al., "FlashAttention", NeurIPS 2022.
Tensor scaled_dot_product_attention(const Tensor& q,
                                    const Tensor& k,
                                    const Tensor& v,
                                    const Tensor& mask = {},
                                    AttentionOptions options = {});

/// Self-attention of one projection, without copies: q, k and v follow each other in its last
/// dimension, and heads within each.
///
/// @param qkv   (batch, sequence, 3 * width). @return (batch, sequence, width).
/// @param mask  broadcasts to (batch, heads, sequence, sequence).
/// @throws InvalidArgument  width is no multiple of `heads`, or as above.
Tensor packed_attention(const Tensor& qkv,
                        std::int64_t heads,
                        const Tensor& mask = {},
                        AttentionOptions options = {});

}  // namespace tandem
