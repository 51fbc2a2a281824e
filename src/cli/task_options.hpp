// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tandem/parallel/options.hpp"
#include "tandem/sim/simulate.hpp"
#include "tandem/train/task.hpp"

#include "cli/choices/backend_choice.hpp"
#include "cli/choices/batch_choice.hpp"
#include "cli/choices/device_choice.hpp"
#include "cli/choices/mode_choice.hpp"
#include "cli/choices/model_choice.hpp"
#include "cli/choices/number_choice.hpp"
#include "cli/choices/sharding_choice.hpp"
#include "cli/data_form.hpp"

namespace tandem::world {
class World;
}

namespace tandem::cli {

/// A model on some devices, and how it takes a step.
struct TaskOptions {
  ModelChoice model;
  ModeChoice mode;
  ShardingChoice sharding;
  DeviceChoice devices;
  BackendChoice backend;
  BatchChoice batch;
  NumberChoice numbers;
  bool has_mode_flag = false;
  world::World* world = nullptr;  ///< of the processes that train together; null: only this one

  int processes() const;
  /// Which step it is, with these modes of the program, to a machine that is simulated.
  sim::StepQuestion question(std::vector<std::string> modes) const;
  void add_flags(CLI::App& app);
  /// All but the mode's, for commands that take several modes.
  void add_flags_but_mode(CLI::App& app);
  /// Fills in what was not given: model and rows of a batch.
  /// @throws UsageError  options that do not go together.
  void resolve();
};

/// The wrapper of the model on these devices; mode single takes the first.
/// @throws UsageError  the batch cannot be cut in this way, or there is no such output device.
parallel::DataParallelOptions parallel_options(const TaskOptions& options,
                                               std::vector<Device> devices);

/// The model by its name, with new weights, on the first of the devices.
/// @throws UsageError  an option needs the loss in the replica, which is elsewhere.
std::unique_ptr<training::Task> make_task(const TaskOptions& options,
                                          const DataForm& form,
                                          const parallel::DataParallelOptions& parallel);

}  // namespace tandem::cli
