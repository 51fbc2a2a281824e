// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/sim/cluster.hpp"
#include "tandem/sim/iteration_comparison.hpp"

namespace tandem::sim {

/// How long a step takes on a machine, in seconds. See SimulateOptions for the kernels' speed.
double iteration_time(const Cluster& cluster, const IterationRecord& step, double kernel_speed = 1);

}  // namespace tandem::sim
