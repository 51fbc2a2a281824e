// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

#include "kernels/unary.hpp"

namespace tandem {

/// op(x), laid out as x where it is dense; off the tape.
Tensor run_unary(const char* name, kernels::Unary op, const Tensor& x);

}  // namespace tandem
