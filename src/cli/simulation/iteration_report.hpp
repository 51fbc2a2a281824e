// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tandem/sim/iteration_comparison.hpp"
#include "tandem/sim/iteration_table.hpp"

namespace tandem::cli {

/// Measured steps beside predicted ones, as an object without "schema_version", and as text.
nlohmann::json iterations_json(const sim::IterationTable& table,
                               const sim::IterationComparison& comparison);
void print_iterations(const sim::IterationTable& table, const sim::IterationComparison& comparison);

}  // namespace tandem::cli
