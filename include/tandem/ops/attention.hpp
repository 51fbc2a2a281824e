// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

struct AttentionOptions {
  bool causal = false;                         ///< query i sees keys 0 .. i
  std::optional<double> scale = std::nullopt;  ///< factor of the scores; not set: 1 / sqrt(dim)
  double dropout_p = 0;  ///< probability of dropping an attention weight; masks as in dropout
};

/// softmax(q @ k.t() * scale + mask) @ v: (..., heads, queries, dim of v).
///
/// A query that sees no key gives zeros. The result is twice differentiable in q, k and v.
/// @param q     (..., heads, queries, dim). Views of one projection are read in place.
/// @param k, v  (..., heads, keys, dim); the last size of v may differ. Leading sizes broadcast.
/// @param mask  Broadcasts to (..., heads, queries, keys). A bool mask is true where a query sees a
///              key; numbers of q's dtype are added to the scores. Undefined: no mask.
/// @throws InvalidArgument  if shapes or dtypes do not fit, `dropout_p` is outside [0, 1), or the
///                          mask requires grad.
/// @cost   On the host each thread keeps one block of scores in memory. A GPU holds at most 2^24
///         scores at once, or those of one query if they are more. Backward recomputes the scores.
/// @source Dao et al., "FlashAttention", NeurIPS 2022.
Tensor scaled_dot_product_attention(const Tensor& q,
                                    const Tensor& k,
                                    const Tensor& v,
                                    const Tensor& mask = {},
                                    AttentionOptions options = {});

/// Self-attention on one packed projection, without copies.
///
/// q, k and v follow each other in the last dimension of `qkv`, and the heads follow each other
/// within each of them.
/// @param qkv   (batch, sequence, 3 * width)
/// @param mask  Broadcasts to (batch, heads, sequence, sequence).
/// @return      (batch, sequence, width)
/// @throws InvalidArgument  if width is not a multiple of `heads`, or as for
///                          scaled_dot_product_attention.
Tensor packed_attention(const Tensor& qkv,
                        std::int64_t heads,
                        const Tensor& mask = {},
                        AttentionOptions options = {});

}  // namespace tandem
