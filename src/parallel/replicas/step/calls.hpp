// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "parallel/replicas/call/call.hpp"
#include "parallel/replicas/call/replica_groups.hpp"

namespace tandem::parallel {

struct Engine;

/// Begins the calls of a wrapper, and makes the successful ones take effect.
class Calls {
 public:
  explicit Calls(Engine& engine) : engine_(engine) {}

  using Members = ReplicaGroups::Members;
  /// Opens a call that sends parameters and buffers to the devices that lack them. Before that, it
  /// follows changes of the module (mode, hooks, which parameters train).
  ///
  /// @throws InvalidArgument  tensors or parts of the module were added, removed or moved since it
  ///                          was wrapped; the runner is poisoned; or the calling thread works for
  ///                          a replica.
  std::shared_ptr<Call> open(const std::vector<RowRange>& rows, Members members = Members::active);
  /// Opens a call of all devices, without rows, for the module as it was in the last call.
  std::shared_ptr<Call> open_everywhere();
  /// The same after it has followed changes of the module.
  std::shared_ptr<Call> open_changed();
  /// Opens a call that goes through the tapes of an earlier one. Nothing is sent.
  std::shared_ptr<Call> open_backward(const std::vector<RowRange>& rows);
  /// The group for rows of the batch, or of a part of it.
  ReplicaGroup& group_for(const std::vector<RowRange>& rows, Members members = Members::active);
  /// Makes a call that all replicas have agreed to take effect.
  ///
  /// @throws  what the update threw; then the runner is poisoned.
  void commit(const Call& call);
  /// @throws InvalidArgument  the calling thread works for a replica.
  static void check_outside();

 private:
  void check() const;
  std::shared_ptr<Call> begin(const std::vector<RowRange>& rows, Members members);
  /// Lays out the parameters again if some were frozen or unfrozen. Earlier tapes become invalid.
  void follow_training();

  Engine& engine_;
  bool is_laid_out_ = true;  // false: follow_training has failed
};

}  // namespace tandem::parallel
