// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem::autograd {

/// The gradients that a backward begins with: the given ones, and 1 for a scalar without one.
///
/// @throws InvalidArgument  a root is not on the tape, or has no gradient that fits it.
std::vector<Tensor> gradients_of_roots(const std::vector<Tensor>& roots,
                                       std::vector<Tensor> gradients);

}  // namespace tandem::autograd
