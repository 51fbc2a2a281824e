// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/ops/activation.hpp"
#include "tandem/tensor/tensor.hpp"

#include "kernels/activation.hpp"

namespace tandem {

/// op(x; a, b), differentiable. An x that is not a float tensor is taken in f32.
Tensor run_activation(
    const char* name, kernels::Activation op, const Tensor& x, double a = 0, double b = 0);

/// The derivative of gelu(x), in differentiable ops.
Tensor gelu_slope(const Tensor& x, Gelu form);

}  // namespace tandem
