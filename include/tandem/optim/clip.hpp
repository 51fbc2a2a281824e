// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem::optim {

struct ClipOptions {
  double norm_type = 2;             ///< above 0; infinity: the largest absolute value
  bool error_if_nonfinite = false;  ///< costs a read of the device
};

/// Scales the gradients of `parameters` so that their common norm is at most `max_norm`.
///
/// Parameters without gradient are passed over. As in PyTorch the factor is
/// min(1, max_norm / (norm + 1e-6)). Runs over flat arenas where the parameters are in one.
///
/// @param parameters  on one device.
/// @return the norm before, a scalar on that device; zero without gradients.
/// @throws InvalidArgument  several devices; an option out of range; a norm that is not finite,
/// where that was asked for.
Tensor clip_grad_norm_(const std::vector<Tensor>& parameters,
                       double max_norm,
                       ClipOptions options = {});

/// Clamps each gradient element to [-clip_value, clip_value].
///
/// @throws InvalidArgument  clip_value is negative.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);

}  // namespace tandem::optim
