// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tandem/comm/group.hpp"
#include "tandem/runtime/deadline.hpp"
#include "tandem/runtime/device.hpp"

#include "comm/algorithm_choice.hpp"
#include "comm/engine.hpp"
#include "comm/group_record.hpp"
#include "comm/operation.hpp"
#include "comm/patience.hpp"
#include "comm/posts.hpp"
#include "comm/rank_table.hpp"

namespace tandem::comm {

/// Where the ranks of a group meet: who has come to which operation, whether they agree, how long
/// they wait for each other, and why the group refuses calls. What they have agreed on, the engine
/// carries out.
///
/// Thread-safe.
class Meeting {
 public:
  /// @throws InvalidArgument  the group's algorithm does not exist or refuses the group.
  Meeting(RankTable ranks, GroupOptions options, std::shared_ptr<Engine> engine);

  const RankTable& ranks() const noexcept { return ranks_; }
  const GroupOptions& options() const noexcept { return options_; }
  const AlgorithmChoice& algorithms() const noexcept { return algorithms_; }
  Engine& engine() const noexcept { return *engine_; }
  Attendance& attendance() const noexcept { return engine_->attendance(); }

  /// Registers a rank's parts in its next collectives, which are coalesced into one operation. The
  /// last rank to arrive has the engine begin.
  std::shared_ptr<Operation> arrive(int rank,
                                    std::vector<Signature> signatures,
                                    std::vector<Part> parts);
  /// The same as `arrive`, for one end of a message.
  std::shared_ptr<Operation> post(int rank,
                                  const Signature& signature,
                                  const Message& message,
                                  Part part);
  /// Returns when the operation is complete.
  ///
  /// @param timeout  max(): the group's.
  /// @throws Desync, CommAborted, Timeout
  void wait(Operation& op, int rank, std::chrono::milliseconds timeout);
  /// The rank's place in the group that a split, which is complete, has put it in.
  Seat seat(Operation& op, int rank);
  /// Gives up on an operation. Afterwards no thread touches the rank's memory.
  void leave(Operation& op, int rank) noexcept;

  /// Fails the group and the groups split from it.
  void abort(const std::string& reason) noexcept;
  /// The same, for what another process says, unless it is of a group that this one was before it
  /// was reset.
  void stop(const Failure& why, std::uint64_t group) noexcept;
  /// Fails this group only, because one of its ranks was destroyed. Other processes are told.
  void retire(int rank) noexcept;
  /// A rank of another process was destroyed, which takes part in no collective after the
  /// `reached`-th one.
  void note_left(const Failure& why, std::int64_t reached, std::uint64_t group) noexcept;
  void reset();

  /// How many collectives each rank of this process has reached, in their order.
  std::vector<std::int64_t> reached() const;
  /// The last operations of each rank, as JSON; see Communicator.
  std::string flight_record() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t kNoLast = std::numeric_limits<std::int64_t>::max();
  std::int64_t next_number(int rank) const { return reached_[static_cast<std::size_t>(rank)] + 1; }
  std::shared_ptr<Operation> next_operation(int rank, std::vector<Signature>& signatures);
  void check_signatures(const Operation& op, int rank, const std::vector<Signature>& signatures);
  std::shared_ptr<Operation> take_post(const Message& message, Collective::Kind kind);
  void begin_message(const std::shared_ptr<Operation>& op);
  void check_ends(Operation& op, int rank, Signature signature);
  void start(Operation& op);
  void seat_ranks(Operation& op);
  void fail(Failure why);
  void fail(Failure::Kind kind, const std::string& text) { fail(Failure{kind, text}); }
  void end_waiting();
  /// Throws why the group refuses calls. Opens the lock.
  [[noreturn]] void refuse(std::unique_lock<std::mutex>& lock, const std::string& what);
  /// Waits a moment for a better reason than a provisional one. Without the lock.
  std::shared_ptr<const Failure> final_reason(std::shared_ptr<const Failure> why,
                                              std::int64_t generation);
  void begin(const std::shared_ptr<Operation>& op);
  void await(Operation& op, int rank, std::chrono::milliseconds timeout);
  [[noreturn]] void raise_failure(const Operation& op);
  /// The operation may never end unless somebody gives up.
  bool may_wait_for_ever(Operation::State state) const noexcept;
  Patience patience_of(std::chrono::milliseconds timeout) const;
  void check_patience(Operation& op, int rank, Patience& patience);
  bool may_hear_more(const Operation& op, Patience& patience) const;
  std::string absence(const Operation& op) const;

  const RankTable ranks_;
  const GroupOptions options_;
  const AlgorithmChoice algorithms_;
  const std::shared_ptr<Engine> engine_;
  GroupRecord record_;

  // Guards what follows, and the members of Operation that say so. `fail`, `end_waiting` and the
  // functions above them that use these members are called with it held.
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<Operation>> pending_;  // not yet reached by all ranks, oldest first
  Posts posts_;
  std::vector<std::weak_ptr<Meeting>>
      children_;  // of groups split from this one; their mutexes are locked after this one
  std::vector<std::int64_t> reached_;       // by rank: number of collectives that it has reached
  std::int64_t generation_ = 0;             // resets so far
  std::shared_ptr<const Failure> failure_;  // null while the group is usable
  std::int64_t last_ = kNoLast;             // the last collective that all processes take part in
  std::optional<Failure> left_;             // why there is no other
};

}  // namespace tandem::comm
