// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/runtime/stream.hpp"

#include "kernels/view.hpp"

namespace tandem::kernels {

/// `matmul` of types of 16 bits, for which BLAS has nothing: operands are widened to f32 in
/// workspace, the product is rounded once.
void widened_matmul(
    const HostStream& s, const View& a, const View& b, const View& bias, const View& c);

}  // namespace tandem::kernels
