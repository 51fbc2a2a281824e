// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "tandem/optim/arena.hpp"

#include "parallel/reduce/whole_gradient.hpp"

namespace tandem::parallel {

/// The user's hooks of the module's parameters during one step. They wait while replica 0 makes its
/// part of the gradients, and run once the replicas' parts have been added up.
class ParameterHooks {
 public:
  /// Holds the hooks back until the end of the scope. @param arena  device 0's.
  explicit ParameterHooks(std::shared_ptr<optim::Arena> arena);
  ~ParameterHooks();
  ParameterHooks(const ParameterHooks&) = delete;
  ParameterHooks& operator=(const ParameterHooks&) = delete;

  bool any() const noexcept { return !places_.empty(); }
  /// Runs the hooks on the existing gradients, on device 0's thread, while the other devices wait.
  ///
  /// @param add_earlier  adds the gradient of earlier backwards to a place's, since an accumulate
  ///                     hook sees both.
  void run(GradientPlace where, const std::function<void(std::size_t place)>& add_earlier) const;

 private:
  std::shared_ptr<optim::Arena> arena_;
  std::vector<std::size_t> places_;  // places that have hooks
};

/// Whether any parameter has a hook of the user's.
bool has_parameter_hooks(const optim::Arena& arena);

}  // namespace tandem::parallel
