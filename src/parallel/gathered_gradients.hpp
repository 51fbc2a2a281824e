// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tandem/autograd/autograd.hpp"
#include "tandem/parallel/gathered.hpp"

namespace tandem::parallel::detail {

/// The gradient of an input of `dp(x)`, from those of its parts by device, of which some may be
/// undefined.
Tensor join_gradients(const ReplicaTapes::Input& input, const std::vector<Tensor>& parts);

/// A backward that keeps no tape goes through a device's output.
void spend(ReplicaTapes& tapes, std::size_t device, std::size_t output);

/// backward of `dp(x)` where its gradients are to be seen, not added to the leaves'
/// (autograd::grad), or are to be on the tape themselves (create_graph).
///
/// @param parameters  the module's, that train.
/// @return gradients of the inputs, then of the parameters.
/// @cost  the replicas' gradients of all parameters go to device 0 in whole.
autograd::Gradients gradients_through(const std::shared_ptr<ReplicaSet>& set,
                                      const std::vector<RowRange>& rows,
                                      const std::shared_ptr<ReplicaTapes>& tapes,
                                      const GradientOf& gradient_of,
                                      const std::vector<Tensor>& dys,
                                      const std::vector<Tensor>& parameters);

}  // namespace tandem::parallel::detail
