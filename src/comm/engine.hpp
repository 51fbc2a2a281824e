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
  /// Whether all ranks of its group are in this process.
  virtual bool has_all_ranks() const noexcept { return true; }
  /// Begins one end of a message whose other end is in another process, or may be.
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
  /// A rank of this process was destroyed: the other processes are told that it takes part in no
  /// collective after the `reached`-th one.
  virtual void retire(const Failure& /*why*/, std::int64_t /*reached*/) noexcept {}
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
  /// Who is waited for in an operation that has begun: "rank 2 (...) did not come".
  virtual std::string absence(const Operation&) const { return "the work did not end"; }
  /// Whether some rank has not come to an operation that has begun, which does not end by itself.
  virtual bool lacks_ranks(const Operation&) const { return true; }
  /// Asks the other processes which of their ranks have come to a collective that has not begun,
  /// or not ended.
  virtual void ask_who_has_come(const Operation&) {}
  /// Whether all of them have answered.
  virtual bool have_answered(const Operation&) const { return true; }
  /// Of a collective that has not begun, the ranks of other processes that have not come, as far as
  /// these have answered; "": it knows of none.
  virtual std::string absence_elsewhere(const Operation&) const { return ""; }
  /// Which processes give no sign of life: "; rank 2 (...): no sign of life for 3.1 s".
  virtual std::string silence() const { return ""; }
  /// Whether that is the group's number among those over processes.
  virtual bool is_of(std::uint64_t /*group*/) const { return false; }
  /// A name of the group that is the same in all its processes, and of no other group of theirs;
  /// "": it is of this process alone.
  virtual std::string group_name() const { return ""; }
  /// Who is to hear of what other processes say. Called once, before any operation.
  virtual void attach(const std::shared_ptr<Meeting>&) {}
};

}  // namespace tandem::comm
