// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace tandem::libtorch {

/// tandem::dropout by PyTorch's ops, for a device on which tandem has no kernels: with the same
/// masks. Differentiable on PyTorch's graph. To be called in a replica's job.
///
/// @param x  of one dimension or more. @param p  above 0 and below 1.
/// @cost  120 launches for each four million elements: they are integer arithmetic.
at::Tensor row_dropout(const at::Tensor& x, double p);

}  // namespace tandem::libtorch
