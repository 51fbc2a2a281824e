// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tandem/parallel/replica_error.hpp"

namespace tandem::libtorch {

/// Where the parameters are that PyTorch's own optimizer updates: the first device's memory, as
/// tensors of PyTorch's host or of the device.
enum class ParameterPlace : unsigned char { host, device };

/// Runs the step of an optimizer of PyTorch as the update of the first device. What it leaves in
/// the device's memory is the optimizer's state.
///
/// @throws parallel::ReplicaError  `step` has thrown.
void run_own_update(const parallel::Replica& first,
                    ParameterPlace place,
                    const std::function<void()>& step);

}  // namespace tandem::libtorch
