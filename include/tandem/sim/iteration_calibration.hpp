// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "tandem/sim/calibration.hpp"
#include "tandem/sim/cluster.hpp"
#include "tandem/sim/iteration_comparison.hpp"
#include "tandem/sim/iteration_table.hpp"

namespace tandem::sim {

struct IterationCalibration {
  Cluster cluster;  ///< the one that was given, with fitted constants and their sources
  std::vector<FittedConstant> constants = {};
  IterationComparison comparison;  ///< of the table with that cluster
};

/// Which constants a table of steps decides.
struct CalibrateIterationsOptions {
  /// collectives.ring.efficiency, if steps are of several GPUs. False: it is known from elsewhere.
  bool fits_ring = true;
};

/// Fits gpus.efficiency.matmul, and collectives.ring.efficiency, to measured steps, by least
/// squares of the relative errors of all rows, from 0.05 to 1 each.
///
/// Each trial times the records anew. A constant on which no step's time depends is held, and so is
/// that of rings if it has the same part in all times, as in a single row. The result depends on
/// the arguments alone.
///
/// @param records  what the steps of the table's rows did, one for each row
/// @throws InvalidArgument  as compare_iterations
/// @cost   some tens of simulations for each row
IterationCalibration calibrate_iterations(const Cluster& cluster,
                                          const IterationTable& table,
                                          std::span<const IterationRecord> records,
                                          const CalibrateIterationsOptions& options = {});

}  // namespace tandem::sim
