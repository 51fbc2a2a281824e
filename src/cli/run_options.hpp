// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tandem/data/data_loader.hpp"
#include "tandem/data/known_datasets.hpp"

#include "cli/choices/data_choice.hpp"
#include "cli/choices/optimizer_choice.hpp"
#include "cli/launched.hpp"
#include "cli/task_options.hpp"

namespace tandem::cli {

/// A task that is trained on a data set.
struct RunOptions : TaskOptions {
  DataChoice data;
  OptimizerChoice optimizer;
  bool quiet = false;

  void add_flags(CLI::App& app);
  /// Those that a task does not have.
  void add_training_flags(CLI::App& app);
  /// Fills in what was not given: also the model by the data, and the data by the model.
  /// @throws UsageError  options that do not go together.
  void resolve();

  /// The same, for this process of those that a launcher has started.
  RunOptions of_process(Launched& launched) const;
  DataSets load_data() const { return data.load(numbers.storage(), model.gpt.length); }
  std::unique_ptr<optim::Optimizer> make_optimizer(nn::Module& module) const;
  /// Seeded shuffling for training, and in order for measuring.
  datasets::LoaderOptions loader(const datasets::Dataset& set,
                                 datasets::Split split,
                                 Device device) const;
};

/// Without what has no meaning for one device.
RunOptions on_one_device(RunOptions options);

/// "cnn-small 1x28x28 f32, adamw": what a checkpoint must be of.
std::string model_identity(const RunOptions& options, const DataForm& form);

}  // namespace tandem::cli
