// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem::optim {

struct ClipOptions {
  double norm_type = 2;             ///< above 0; infinity: the largest absolute value
  bool error_if_nonfinite = false;  ///< throw if the norm is not finite; costs a read of the device
};

/// Scales the gradients of `parameters` so that their common norm is at most `max_norm`.
///
/// Parameters without a gradient are skipped. As in PyTorch the factor is
/// min(1, max_norm / (norm + 1e-6)). Gradients that are adjacent in an arena are processed at once.
/// Where ranks have shares of the gradients (FullyShardedDataParallel), the norm is that of all of
/// them and the call is collective.
/// @param parameters  on one device
/// @return  the norm before scaling, a scalar on that device; zero if there are no gradients.
/// @throws InvalidArgument  if gradients are on several devices, an option is out of range, or the
///                          norm is not finite and error_if_nonfinite is set.
Tensor clip_grad_norm_(const std::vector<Tensor>& parameters,
                       double max_norm,
                       ClipOptions options = {});

/// Clamps each gradient element to [-clip_value, clip_value].
///
/// @throws InvalidArgument  if `clip_value` is negative.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);

}  // namespace tandem::optim
