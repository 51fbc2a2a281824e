// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/sim/cluster.hpp"
#include "tandem/sim/iteration_comparison.hpp"
#include "tandem/sim/iteration_table.hpp"

namespace tandem::cli {

/// Takes the step of each row of a table, on virtual devices that stand for the cluster's GPUs.
///
/// @throws Error  with the line: a model, mode or other name that does not exist, more GPUs than
/// the
///                cluster has, options that do not go together, or a GPU that is too small.
std::vector<sim::IterationRecord> record_iterations(const sim::IterationTable& table,
                                                    const sim::Cluster& cluster);

}  // namespace tandem::cli
