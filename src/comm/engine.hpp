// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/operation.hpp"

namespace tandem::comm {

/// Carries operations out once all ranks of a meeting have arrived.
///
/// Thread-safe. From `begin` on the engine alone ends an operation, by Operation::finish or fail,
/// and afterwards touches no memory of its ranks.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Begins an operation; called by the rank that came last.
  ///
  /// @throws  it cannot be carried out. Nothing touches the ranks' memory any more, and the meeting
  ///          fails the operation.
  virtual void begin(Operation& op) = 0;
  /// Takes a share of the work, in the thread of a rank that waits.
  virtual void help(Operation& op) noexcept = 0;
  /// Whether an operation that has begun ends without the help of anyone outside this process. If
  /// not, a rank's deadline holds while the operation runs, and when it has passed the meeting
  /// calls abort().
  virtual bool ends_by_itself() const noexcept = 0;
  /// Fails the operations that do not end by themselves, and ends what hangs of those that are
  /// queued. What is queued and ends soon is left alone: its ranks may have been told that it is
  /// complete.
  virtual void abort(const std::string& reason) noexcept = 0;
  /// Waits until nothing that has been begun uses memory. Called after a failure that leaves the
  /// memory without an event to wait for.
  virtual void drain() noexcept = 0;
  /// The engine of a group that is split from this one.
  ///
  /// @param ranks  of this engine's group, by rank of the new one.
  virtual std::shared_ptr<Engine> split(const std::vector<int>& ranks) const = 0;
};

}  // namespace tandem::comm
