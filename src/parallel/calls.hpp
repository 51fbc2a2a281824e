// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "parallel/call_runner.hpp"
#include "parallel/module_buffers.hpp"
#include "parallel/module_gradients.hpp"
#include "parallel/module_parameters.hpp"
#include "parallel/wrapped_module.hpp"

namespace tandem::parallel {

/// Begins the calls of a wrapper, and makes those that went well take effect.
class Calls {
 public:
  struct Parts {
    const Replicas& replicas;
    WrappedModule& module;
    ModuleParameters& parameters;
    ModuleBuffers& buffers;
    ModuleGradients& gradients;
    ReplicaGroups& groups;
    CallRunner& runner;
  };
  explicit Calls(Parts parts) : parts_(parts) {}

  using Members = ReplicaGroups::Members;
  /// A call that sends parameters and buffers where they lack. Follows what became of the module.
  ///
  /// @throws InvalidArgument  the module is not as it was when it was wrapped; the runner is
  ///                          poisoned; the caller works for a replica.
  std::shared_ptr<Call> open(const std::vector<RowRange>& rows, Members members = Members::active);
  /// A call of all devices, without rows.
  std::shared_ptr<Call> open_everywhere();
  /// A call that goes through an earlier one's tapes: nothing is sent.
  std::shared_ptr<Call> open_backward(const std::vector<RowRange>& rows);
  /// A group for rows of the batch, or of a part of it.
  ReplicaGroup& group_for(const std::vector<RowRange>& rows, Members members = Members::active);
  /// Makes a call take effect that all replicas have agreed to.
  ///
  /// @throws  what the update did; the runner is poisoned then.
  void commit(const Call& call);
  /// How often parameters have been laid out anew, because some were frozen or unfrozen.
  std::uint64_t generation() const noexcept { return generation_; }
  /// @throws InvalidArgument  the calling thread works for a replica.
  static void check_outside();

 private:
  void check() const;
  /// Binds the parameters anew if some were frozen or unfrozen. Earlier tapes go.
  void follow_training();

  Parts parts_;
  bool rebinds_ = false;  // they are being bound anew
  std::uint64_t generation_ = 0;
};

}  // namespace tandem::parallel
