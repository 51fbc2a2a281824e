// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/nn/module.hpp"
#include "tandem/optim/optimizer.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// All optimizers.
std::vector<std::string> optimizer_names();

/// Which optimizer updates the model, and how fast.
struct OptimizerChoice {
  std::string name = "adamw";
  std::optional<double> lr;  ///< none: by the optimizer

  void add_flags(CLI::App& app);
  /// Tensors of its state for each parameter, of the parameter's size.
  int states() const;
  /// @param adam_eps  for optimizers of Adam's family; it is the model's (see Model).
  std::unique_ptr<optim::Optimizer> make(nn::Module& module, double adam_eps) const;
};

}  // namespace tandem::cli
