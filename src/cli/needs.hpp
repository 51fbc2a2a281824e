// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tandem/parallel/options.hpp"

#include "cli/setup.hpp"

namespace tandem::cli {

/// Refuses a size that this machine's memory cannot hold, before anything of it is made: what is
/// made bit by bit ends by the hand of the system, which may take other programs first.
///
/// @param least  bytes of the host, at least; a double, since the product may be of any size.
/// @throws Error  with both figures.
void check_fits(const std::string& what, double least);

/// The same for a model with its gradients, moments, replicas, and a batch.
void check_model_fits(const RunOptions& options,
                      const DataSets& data,
                      const parallel::DataParallelOptions& parallel);

/// The same for the tensors of a collective on all ranks, and its pieces.
void check_collective_fits(const CollectivesRequest& request,
                           std::span<const Device> devices,
                           std::size_t nbytes,
                           std::size_t segment);

/// The same for a search that goes on until the devices' limits are reached.
void check_limits_fit(std::span<const Device> devices);

}  // namespace tandem::cli
