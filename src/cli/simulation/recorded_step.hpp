// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tandem/sim/cluster.hpp"
#include "tandem/sim/iteration_comparison.hpp"

#include "cli/choices/optimizer_choice.hpp"
#include "cli/task_options.hpp"

namespace tandem::cli {

/// A step to take on the GPUs of a machine that need not be there.
struct StepSetup {
  TaskOptions task;  ///< not resolved
  OptimizerChoice optimizer = {};
  std::optional<std::size_t> bucket_nbytes = {};  ///< of all buckets, also the first
};

/// What it did.
struct RecordedStep {
  sim::IterationRecord step;
  std::vector<std::size_t> peaks;  ///< bytes, by device of the step
};

/// Takes a step on virtual devices, which account for the GPUs' memory and compute nothing. Of many
/// GPUs in mode ddp, which all do the same, it takes the part of two, unless collectives are timed
/// as they run.
///
/// @throws UsageError  options that do not go together. @throws OutOfMemory  a GPU is too small.
RecordedStep record_step(StepSetup setup, const sim::Cluster& cluster, int gpus);

}  // namespace tandem::cli
