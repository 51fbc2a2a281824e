// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/optim/arena.hpp"

#include "parallel/reduce/whole_gradient.hpp"

namespace tandem::parallel {

/// A copy of the replicas' gradients, to be put back after a failure. It copies only gradients that
/// exist, so after zero_grad it copies nothing.
class GradientSnapshot {
 public:
  void take(std::shared_ptr<optim::Arena> arena);
  void restore() const;
  /// Drops the gradients, so that the step begins without any.
  void clear() const;
  /// Whether there were any gradients.
  bool any() const noexcept;
  /// Adds each arena's copies to the gradients that it has now, and to no others of the replicas.
  void add() const;
  /// Adds the copy to a reduced gradient, that of the first arena, unless this was done already.
  void add(std::size_t place);
  /// Adds the copies to all reduced gradients, while the other devices wait.
  void add(GradientPlace where);

 private:
  struct Saved {
    std::shared_ptr<optim::Arena> arena;
    std::vector<Tensor> gradients;  // by place
    std::vector<bool> added = {};   // by place
  };
  static void add(const Saved& saved, std::size_t place);

  std::vector<Saved> saved_;
};

}  // namespace tandem::parallel
