// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "parallel/reduce/gradient_snapshot.hpp"
#include "parallel/replicas/call/call.hpp"
#include "parallel/replicas/module/module_gradients.hpp"

namespace tandem::parallel {

/// The gradients that a module has from before a call which makes more of them. Those of the call
/// are added to them as they are made, or, where they are put aside, once they have been reduced.
class EarlierGradients {
 public:
  explicit EarlierGradients(ModuleGradients& gradients) : gradients_(gradients) {}

  /// Called before the call. @param aside  they are put aside.
  void begin(bool aside);
  /// Whether some were put aside, and are to be added.
  bool are_to_be_added() const noexcept { return are_to_be_added_; }
  /// Adds those that were put aside, on device 0 before the vote: if it fails, nothing has changed.
  ///
  /// @param where  device 0's gradients are.
  void add(Call::Part& first, GradientPlace where);
  /// Adds those of one place.
  void add(std::size_t place) { before_.add(place); }
  /// The call has failed, or has no effect. If that fails, the runner is poisoned.
  void restore() const { gradients_.restore(before_); }

 private:
  ModuleGradients& gradients_;
  GradientSnapshot before_;
  bool are_to_be_added_ = false;
};

}  // namespace tandem::parallel
