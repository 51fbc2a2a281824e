// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/device.hpp"
#include "tandem/sim/cluster.hpp"
#include "tandem/sim/iteration_table.hpp"

namespace tandem::sim {

/// What was done in a step, from which its time on any machine follows.
struct IterationRecord {
  profile::StepRecord before;  ///< of the step before, see time_after
  profile::StepRecord record = {};
  std::vector<Device> devices;  ///< see `simulate`
  int gpus = 1;                 ///< that the devices stand for
  bool copies_buckets = false;  ///< see SimulateOptions

  /// The arithmetic of the device that has most of it.
  double flops() const;
};

/// Measured training steps beside those that a model predicts.
struct IterationComparison {
  struct Row {
    double measured = 0;      ///< seconds
    double predicted = 0;     ///< seconds
    double kernel_speed = 1;  ///< see SimulateOptions
    /// It was used for the kernels' speed, so it is not a prediction, and is not in the mean.
    bool is_given = false;

    double error() const { return predicted / measured - 1; }
  };
  std::vector<Row> rows = {};  ///< as in the table
  double error = 0;            ///< mean of |error()|
  /// The same of a model that knows nothing but one speed: the flops of a GPU's step, divided by a
  /// constant that is fitted to these very rows.
  double null_error = 0;
  double null_speed = 0;  ///< FLOP/s of a GPU
};

struct CompareIterationsOptions {
  /// Scales the speed of the kernels so that rows of one GPU are exact, for all rows of the same
  /// model, context, rows for each GPU, dtype and optimizer. Then the others are predictions of
  /// what several GPUs cost.
  bool given_single = false;
};

/// Compares a table with the times of `simulate`. Thread-safe; the result depends on the arguments
/// alone.
///
/// @param records  what the steps of the table's rows did, one for each row
/// @throws InvalidArgument  as `simulate`; all times are so far from the predicted ones that they
///                          must be in another unit. Or with given_single: no row is of one GPU or
///                          of several, two rows of one GPU are alike, or one is measured shorter
///                          than the host takes to launch it.
/// @cost   a simulation for each row; with given_single some ten for a row of one GPU
IterationComparison compare_iterations(const Cluster& cluster,
                                       const IterationTable& table,
                                       std::span<const IterationRecord> records,
                                       const CompareIterationsOptions& options = {});

}  // namespace tandem::sim
