// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tandem/autograd/autograd.hpp"
#include "tandem/parallel/detail/gathered.hpp"

namespace tandem::parallel::detail {

/// The gradient of an input of `dp(x)`, from the gradients of its parts by device. Some of these
/// may be undefined.
Tensor join_gradients(const ReplicaTapes::Input& input, const std::vector<Tensor>& parts);

/// Drops a device's output, and notes that a backward which keeps no tape has gone through it.
void spend(ReplicaTapes& tapes, std::size_t device, std::size_t output);

/// backward of `dp(x)` for callers that want its gradients returned rather than added to the leaves
/// (autograd::grad), or recorded on the tape (create_graph).
///
/// @param parameters  the module's parameters that train.
/// @return gradients of the inputs, then of the parameters.
/// @cost  each replica sends its gradients of all parameters to device 0.
autograd::Gradients gradients_through(const std::shared_ptr<ReplicaSet>& set,
                                      const std::vector<RowRange>& rows,
                                      const std::shared_ptr<ReplicaTapes>& tapes,
                                      const GradientOf& gradient_of,
                                      const std::vector<Tensor>& dys,
                                      const std::vector<Tensor>& parameters);

}  // namespace tandem::parallel::detail
