// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/ops/activation.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Matrix product with torch.matmul's rules for vectors and broadcast batches.
///
/// @throws InvalidArgument  inner sizes differ (both shapes in the text), integer tensors.
Tensor matmul(const Tensor& a, const Tensor& b);
/// x @ weight.t() + bias. @param x  (..., in). @param weight  (out, in). @param bias  (out) or
/// undefined.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
/// gelu(linear(x, weight, bias), form) as one op, which keeps what goes into GELU once and makes
/// its gradient and that of the bias in one pass.
///
/// On a GPU the tanh form is the product's epilogue: cuBLASLt's GELU is that approximation, and it
/// has none by erf.
/// @throws InvalidArgument  as linear.
/// @cost  one tensor of the result's size beside the result.
Tensor linear_gelu(const Tensor& x,
                   const Tensor& weight,
                   const Tensor& bias = {},
                   Gelu form = Gelu::exact);

}  // namespace tandem
