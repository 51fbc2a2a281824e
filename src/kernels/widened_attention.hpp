// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention.hpp"

namespace tandem::kernels {

/// `attention` of types of 16 bits on the host, which multiplies none: operands are widened to f32
/// in workspace, and the output is rounded once.
void widened_attention(const HostStream& s, const Attention& a, const View& out, const View& lse);

/// The same of its gradients.
void widened_attention_grad(const HostStream& s,
                            const Attention& a,
                            const View& out,
                            const View& lse,
                            const View& dout,
                            const AttentionGrads& grads);

}  // namespace tandem::kernels
