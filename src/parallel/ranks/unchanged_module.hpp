// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/optim/arena.hpp"

#include "parallel/replicas/device/replica_source.hpp"

namespace tandem::parallel {

/// What the parameters of a rank's module were when it was wrapped, and the check that the shares
/// still fit them. Parameters that trained may be frozen and unfrozen.
class UnchangedModule {
 public:
  /// @param module  outlives this object.
  UnchangedModule(ReplicaSource& module, std::shared_ptr<const optim::Arena> parameters);
  /// @throws InvalidArgument  a parameter was added, removed, replaced, resized, moved or converted
  ///                          since, or one that was frozen is to train; the text names it.
  void check() const;

 private:
  ReplicaSource& module_;
  std::shared_ptr<const optim::Arena> parameters_;
  std::vector<bool> trained_;  // by place
};

}  // namespace tandem::parallel
