// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/runtime/stream.hpp"

#include "kernels/conv.hpp"
#include "kernels/view.hpp"

// oneDNN behind the kernels of the same names, in f32 and bf16. Each returns false, with nothing
// done, where oneDNN has no fast implementation for the sizes or the CPU, or is not linked.
namespace tandem::kernels::onednn {

/// Whether oneDNN is in the program (src/kernels/without_onednn is compiled where it is not).
bool is_linked() noexcept;

bool matmul(const HostStream& s, const View& a, const View& b, const View& bias, const View& c);
bool conv2d(const HostStream& s,
            const ConvSize& size,
            const View& x,
            const View& weight,
            const View& bias,
            const View& y);
bool conv2d_input_grad(
    const HostStream& s, const ConvSize& size, const View& dy, const View& weight, const View& dx);
bool conv2d_weight_grad(const HostStream& s,
                        const ConvSize& size,
                        const View& dy,
                        const View& x,
                        const View& dweight,
                        const View& dbias);

}  // namespace tandem::kernels::onednn
