// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

#include "kernels/curve.hpp"

namespace tandem {

/// op(x; a, b), differentiable. An x that is no float tensor is taken in f32.
Tensor run_curve(const char* name, kernels::Curve op, const Tensor& x, double a = 0, double b = 0);

}  // namespace tandem
