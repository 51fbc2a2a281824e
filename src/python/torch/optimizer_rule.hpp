// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tandem/optim/optimizer.hpp"

namespace tandem::python {

/// How a class of torch.optim is one of tandem's optimizers. Options and state have the same names,
/// but for betas.
struct OptimizerRule {
  std::string name;                  ///< of the class in torch.optim
  std::vector<std::string> numbers;  ///< options, numbers or flags
  bool has_betas;
  std::vector<std::string> must_be_off;  ///< flags that the shared update does not have
  std::vector<std::string> tensors;      ///< of a parameter's state
  /// The numbers of a parameter's state, "step" first; none if it counts no steps.
  std::vector<std::string> state_numbers;
  std::function<std::unique_ptr<optim::Optimizer>(const std::vector<optim::GroupSpec>&)> make;

  /// @throws InvalidArgument  it is none that treats each element alike.
  static const OptimizerRule& of(const std::string& name);
};

/// Whether PyTorch keeps a state's numbers in f64, since that is its default dtype, and not in f32.
bool counts_in_f64();

}  // namespace tandem::python
