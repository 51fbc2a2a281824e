// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tandem/optim/arena.hpp"

namespace tandem::parallel {

/// The user's hooks of the module's parameters in one step: they wait while replica 0 makes its
/// part of the gradients, and run once the replicas' parts have been added up.
class ParameterHooks {
 public:
  /// Lets them wait until the end of the scope. @param arena  device 0's; null: there are none.
  explicit ParameterHooks(std::shared_ptr<optim::Arena> arena);
  ~ParameterHooks();
  ParameterHooks(const ParameterHooks&) = delete;
  ParameterHooks& operator=(const ParameterHooks&) = delete;

  bool any() const noexcept { return !places_.empty(); }
  /// Runs them on the gradients that are there, by device 0's thread, while the others wait. Where
  /// gradients lie on several devices, they are brought here before, and back afterwards.
  void run() const;

 private:
  std::shared_ptr<optim::Arena> arena_;
  std::vector<std::size_t> places_;  // that have hooks
};

/// Some parameter has a hook of the user's.
bool has_parameter_hooks(const optim::Arena& arena);

}  // namespace tandem::parallel
