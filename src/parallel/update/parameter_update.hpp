// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/comm/communicator.hpp"
#include "tandem/optim/arena_sharing.hpp"

namespace tandem::parallel {

/// Decides who updates the parameters, and what happens to gradients and values around an update.
///
/// The module's gradients are those on device 0. If somebody changes them there, the change counts.
class ParameterUpdate {
 public:
  virtual ~ParameterUpdate() = default;

  /// The devices that update together; null if device 0 updates alone.
  virtual optim::ArenaSharing* sharing() noexcept = 0;
  bool is_shared() noexcept { return sharing() != nullptr; }
  /// Makes the gradients on device 0 whole, if they are not.
  virtual void complete() = 0;
  /// A backward begins.
  virtual void begin_backward() = 0;
  /// The gradients have been reduced.
  virtual void reduced() = 0;
  /// Device 0 has made the gradients of the whole batch by itself. Called on its thread.
  virtual void made_whole() {}
  /// The gradients on device 0 are again what they were before the backward.
  virtual void discard() = 0;
  /// Gives every device the values that the others have updated. Each device calls it on its own
  /// thread.
  ///
  /// @param group  of all devices, so that ranks and devices have the same numbers
  virtual void gather_values(comm::Communicator& group, int device) const = 0;
  /// A device has updated its part. Called on its thread.
  virtual void note_written(int /*device*/) {}
};

}  // namespace tandem::parallel
