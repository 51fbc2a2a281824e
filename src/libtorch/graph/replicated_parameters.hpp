// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "libtorch/graph/broadcast_parameters.hpp"
#include "libtorch/modules/torch_source.hpp"

namespace tandem::libtorch {

/// The parameters of all replicas as results of the user's, one bucket for all.
///
/// @throws InvalidArgument  a parameter is tied to another one in the module, and not in a copy.
BroadcastParameters replicated_parameters(const std::vector<std::shared_ptr<TorchSource>>& sources,
                                          UnusedGradients unused);

}  // namespace tandem::libtorch
