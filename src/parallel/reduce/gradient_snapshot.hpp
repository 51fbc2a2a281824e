// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/optim/arena.hpp"

namespace tandem::parallel {

/// A copy of the replicas' gradients, to be put back after a failure. It copies only gradients that
/// exist, so after zero_grad it copies nothing.
class GradientSnapshot {
 public:
  void take(std::shared_ptr<optim::Arena> arena);
  void restore() const;
  /// Drops the gradients, so that the step begins without any.
  void clear() const;
  /// Adds the copy to the gradients made since, but for those that were added already.
  void add() const;
  /// The same for one place of the first arena, which add() then leaves out.
  void add(std::size_t place);

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
