// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tandem/nn/module.hpp"

#include "nn/state_match.hpp"
#include "optim/state_load.hpp"
#include "train/checkpoint_reader.hpp"

namespace tandem::training {

/// A checkpoint's model on its way into a module, one tensor at a time.
class ModuleLoad {
 public:
  /// Compares, and sees to it that all can be read and that there is memory for it.
  ///
  /// @throws InvalidArgument, FileError, OutOfMemory  nothing has changed.
  ModuleLoad(const CheckpointReader& saved, nn::Module& module);
  /// Reads each tensor and writes it to the module. @throws FileError  the disk fails.
  void run() const;

 private:
  const CheckpointReader& saved_;
  nn::StateMatch found_;
};

/// The same for an optimizer.
class OptimizerLoad {
 public:
  OptimizerLoad(const CheckpointReader& saved, optim::Optimizer& optimizer);
  void run();

 private:
  std::map<std::string, const StoredTensor*> tensors_;
  std::optional<optim::detail::StateLoad> load_;
};

}  // namespace tandem::training
