// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem::optim {

/// The defined gradients of `params`, each once; those next to each other in an arena as one flat
/// tensor.
std::vector<Tensor> gradient_runs(const std::vector<Tensor>& params);

/// Sets `flag`, an i32 scalar, to 1 if `x`, which is dense, holds an infinity or NaN.
void find_nonfinite(const Tensor& x, const Tensor& flag);

/// Some element is an infinity or NaN. @param grads  dense, on one device. Reads the device.
bool has_nonfinite(const std::vector<Tensor>& grads);

}  // namespace tandem::optim
