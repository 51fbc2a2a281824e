// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/runtime/stream.hpp"

#include "kernels/dropout.hpp"
#include "kernels/view.hpp"

// Attention over (batch, heads, sequence, dim), dense in the last dimension: softmax(q @ k.t() *
// scale + mask) @ v. The scores are made block by block, and again in the backward pass. Tensors
// are f32, f64 or of 16 bits: then scores and the sums of exponentials are f32. A GPU rounds
// probabilities before they meet v, and the host widens the operands.
namespace tandem::kernels {

struct Attention {
  View q, k, v;
  View mask;  ///< of (batch, heads, queries, keys) by strides: bool, true where a query sees a key,
              ///< or numbers that are added; null data: none
  double scale = 1;
  bool causal = false;  ///< query i sees keys 0 .. i
  double dropout = 0;   ///< of probabilities; the mask is a function of key, global row and place
  DropoutKey key = {};
};

/// @param lse  (batch, heads, queries), dense, of the scores' type: log of the sum of each query's
///             exponentials; infinite where it sees no key, and its output zero.
void attention(const HostStream& s, const Attention& a, const View& out, const View& lse);
void attention(const CudaStream& s, const Attention& a, const View& out, const View& lse);

struct AttentionGrads {
  View dq, dk, dv;
};
/// @param out, lse  what attention gave.
void attention_grad(const HostStream& s,
                    const Attention& a,
                    const View& out,
                    const View& lse,
                    const View& dout,
                    const AttentionGrads& grads);
void attention_grad(const CudaStream& s,
                    const Attention& a,
                    const View& out,
                    const View& lse,
                    const View& dout,
                    const AttentionGrads& grads);

/// keep (batch, heads, queries, keys; dense) = 1 / (1 - p) where dropout keeps a probability, else
/// 0.
template <class S>
void attention_keep(const S& s, double p, const DropoutKey& key, const View& keep);

}  // namespace tandem::kernels
