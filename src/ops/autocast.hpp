// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/ops/autocast.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// An operand of a product: `x` in the type that the policy has for it.
Tensor as_factor(const Tensor& x);
/// An operand of an op that computes in f32 at least: bf16 and f16 are widened.
Tensor widened(const Tensor& x);
/// The result of such an op on an operand of `dtype`: of this type, or wide where the policy says
/// so.
Tensor narrowed(const Tensor& y, DType dtype);
/// An operand of an op whose result may leave the range of 16 bits, or is small beside its terms:
/// widened where the policy says so. Not in backward: gradients have the types of the forward.
Tensor as_range(const Tensor& x);

}  // namespace tandem
