// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tandem/sim/cluster.hpp"
#include "tandem/sim/simulate.hpp"

namespace tandem::sim {

/// Whether the known error of a description, if it has one, is that of a step: those that were
/// compared have this model, dtype and mode, and the figures are not those of an edited preset.
bool speaks_of(const Cluster& cluster, const std::optional<StepQuestion>& question);

}  // namespace tandem::sim
