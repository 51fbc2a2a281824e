// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "comm/attendance.hpp"
#include "comm/operation.hpp"

namespace tandem::comm {

/// Carries operations out once all ranks of a meeting have arrived.
///
/// Thread-safe. From `begin` on the engine alone ends an operation, by Operation::finish or fail,
/// and afterwards touches no memory of its ranks.
class Engine {
 public:
  explicit Engine(std::shared_ptr<Attendance> attendance) noexcept
      : attendance_(std::move(attendance)) {}
  virtual ~Engine() = default;

  /// Who has come to the group's operations in other processes.
  Attendance& attendance() const noexcept { return *attendance_; }
  /// The work of an operation to which all ranks of this process have come. No slices: there is
  /// nothing to do.
  ///
  /// @throws Desync  see make_collective_plan
  virtual CollectivePlan plan(const Operation& op, const GroupOptions& options) const {
    return make_collective_plan(op.signatures, op.parts, options);
  }
  /// Begins an operation; called by the rank that came last. Whoever ends it must
  /// hold it until it has done so, because a rank lets go of it as soon as it sees the end.
  ///
  /// @throws  it cannot be carried out. Nothing touches the ranks' memory any more, and the meeting
  ///          fails the operation.
  virtual void begin(const std::shared_ptr<Operation>& op) = 0;
  /// Begins one end of a message whose other end is in another process, or may be. Not called where
  /// the attendance has all ranks.
  virtual void begin_message(const std::shared_ptr<Operation>&) {}
  /// Takes a share of the work, in the thread of a rank that waits.
  virtual void help(Operation& op) noexcept = 0;
  /// Whether an operation that has begun ends without the help of anyone outside this process. If
  /// not, a rank's deadline holds while the operation runs, and when it has passed the meeting
  /// calls abort().
  virtual bool ends_by_itself() const noexcept = 0;
  /// Fails the operations that do not end by themselves, and ends what hangs of those that are
  /// queued. What is queued and ends soon is left alone: its ranks may have been told that it is
  /// complete.
  virtual void abort(const Failure& why) noexcept = 0;
  /// After an abort: the group is used again. What was under way has nothing to do with what begins
  /// now.
  virtual void restart() {}
  /// Waits until nothing that has been begun uses memory. Called after a failure that leaves the
  /// memory without an event to wait for.
  virtual void drain() noexcept = 0;
  /// The engine of a group that is split from this one.
  ///
  /// @param ranks   of this engine's group, by rank of the new one.
  /// @param number  of the split among the group's collectives.
  virtual std::shared_ptr<Engine> split(const std::vector<int>& ranks,
                                        std::int64_t number) const = 0;

 private:
  const std::shared_ptr<Attendance> attendance_;
};

}  // namespace tandem::comm
