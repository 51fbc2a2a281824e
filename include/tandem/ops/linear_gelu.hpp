// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/ops/activation.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// gelu(linear(x, weight, bias), form) as one op. It keeps GELU's input once, and computes the
/// gradients of GELU and of the bias in one pass.
///
/// On a GPU the tanh form is the epilogue of the product, because cuBLASLt's GELU is the tanh
/// approximation. cuBLASLt has no GELU by erf.
/// @throws InvalidArgument  as linear.
/// @cost  One tensor of the result's size, in addition to the result.
Tensor linear_gelu(const Tensor& x,
                   const Tensor& weight,
                   const Tensor& bias = {},
                   Gelu form = Gelu::exact);

}  // namespace tandem
