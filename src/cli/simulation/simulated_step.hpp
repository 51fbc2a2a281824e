// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tandem/explain/explanation.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/sim/cluster.hpp"

#include "cli/simulation/gpu_figures.hpp"
#include "cli/task_options.hpp"

namespace tandem::cli {

/// One training step on a machine that need not be there.
struct SimulatedStep {
  std::string model, mode, dtype;
  std::int64_t rows = 0;  ///< of the batch
  double seconds = 0;
  profile::SimulatedMachine machine;
  std::vector<GpuFigures> gpus;  ///< if they are fewer, the last one stands for all others too
  parallel::Explanation explanation;
};

/// Takes a step of the model on `gpus` GPUs of the cluster (record_step), and times it.
///
/// @throws UsageError  options that do not go together. @throws OutOfMemory  a GPU is too small.
SimulatedStep simulate_step(TaskOptions options, const sim::Cluster& cluster, int gpus);

nlohmann::json to_json(const SimulatedStep& step);
void print(const SimulatedStep& step, const sim::Cluster& cluster);

}  // namespace tandem::cli
