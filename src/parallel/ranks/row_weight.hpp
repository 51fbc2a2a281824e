// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// Scales the gradient that comes to `y` by `weight` on its way back.
Tensor weighted(const Tensor& y, double weight);

/// Takes the weight away from the gradient that leaves through `x`, if it is to be weighted once
/// more: `x` is made of outputs of another wrapper, which weights by the same rows.
///
/// @cost  a walk over x's tape, as far as to outputs of wrappers.
Tensor unweighted(const Tensor& x, double weight);

}  // namespace tandem::parallel
