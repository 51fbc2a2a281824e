// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tandem/data/data_loader.hpp"
#include "tandem/optim/optimizer.hpp"
#include "tandem/parallel/options.hpp"
#include "tandem/runtime/device.hpp"
#include "tandem/train/task.hpp"

#include "cli/choices/optimizer_choice.hpp"
#include "cli/task_options.hpp"

namespace tandem::cli {

/// A new model that takes steps on one batch of random images and labels, or of windows of a random
/// text.
class RandomSteps {
 public:
  /// @param options       resolved
  /// @param batch_device  where the batch is
  RandomSteps(const TaskOptions& options,
              const OptimizerChoice& optimizer,
              const parallel::DataParallelOptions& parallel,
              Device batch_device);

  void step();
  /// Takes the steps that make the optimizer's state, after which buckets may change, and that fill
  /// the caches of allocators and libraries.
  void warm_up();
  const std::vector<Device>& devices() const { return task_->devices(); }

 private:
  std::optional<DType> products_;
  std::unique_ptr<training::Task> task_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  datasets::Batch batch_;
};

}  // namespace tandem::cli
