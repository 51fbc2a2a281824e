// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/optim/arena.hpp"

namespace tandem::parallel {

/// The gradients of replicas as they were, to put back after a failure. Copies only what is there:
/// nothing after zero_grad.
class GradientSnapshot {
 public:
  void take(std::shared_ptr<optim::Arena> arena);
  void restore() const;
  /// Begins anew from no gradients.
  void clear() const;
  /// Adds them to what has come since.
  void add() const;

 private:
  struct Saved {
    std::shared_ptr<optim::Arena> arena;
    std::vector<Tensor> gradients;  // by place
  };
  std::vector<Saved> saved_;
};

}  // namespace tandem::parallel
