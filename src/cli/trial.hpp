// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tandem/nn/difference.hpp"
#include "tandem/optim/optimizer.hpp"
#include "tandem/train/task.hpp"

#include "cli/prepared_run.hpp"
#include "report/comparison.hpp"

namespace tandem::cli {

/// A model that is trained for some steps, from the seed on, to be compared with the same training
/// in another mode.
class Trial {
 public:
  /// @param machine  mode single takes the first of its devices alone.
  Trial(const RunOptions& options, const DataSets& sets, const Machine& machine);
  explicit Trial(const PreparedRun& run) : Trial(run.options, run.sets, run.machine) {}

  /// @param on_step  called after each step with its number, from 1, and its loss.
  void run(std::int64_t steps, const std::function<void(std::int64_t, double)>& on_step = {});

  /// The largest batch of training samples that fits. It trains nothing.
  parallel::LargestBatch find_largest_batch();

  /// Takes some more steps, and records all but the first.
  report::Recording watch(std::int64_t steps);

  training::Task& task() { return *task_; }
  const Machine& machine() const noexcept { return machine_; }
  /// Whether the devices compute: otherwise there are no losses and no weights.
  bool has_data() const;
  nn::NamedValues weights();
  const std::vector<double>& step_ms() const noexcept { return step_ms_; }
  const std::vector<report::DeviceFigures>& devices() const noexcept { return devices_; }

 private:
  datasets::Batch next_batch();

  RunOptions options_;
  Machine machine_;
  std::shared_ptr<const datasets::Dataset> train_;
  std::unique_ptr<training::Task> task_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  Machine::Clock clock_;
  datasets::DataLoader loader_;
  std::vector<double> step_ms_;
  std::vector<report::DeviceFigures> devices_;
};

/// What helps against what a report shows, as options of the program.
extern const report::Remedies kRemedies;

/// How far weights may be from one device's after some steps (docs/exactness.md). 0: the dtype
/// rounds too much to tell.
double tolerance_of(const RunOptions& options) noexcept;

}  // namespace tandem::cli
