// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/group.hpp"
#include "tandem/runtime/deadline.hpp"
#include "tandem/runtime/device.hpp"

#include "comm/flight_recorder.hpp"
#include "comm/plan.hpp"
#include "comm/transport.hpp"
#include "runtime/copy_times.hpp"

namespace tandem::comm {

/// Why a group refuses calls. Each thread makes its own exception from it; none is shared.
struct Failure {
  enum class Kind : std::uint8_t { aborted, desync };
  Kind kind;
  std::string text;

  /// @param what  the call that fails, for the text.
  [[noreturn]] void raise(const std::string& what) const;
};

/// The two ends of a message: a send and its recv.
struct Message {
  int from = 0;  ///< any_source until a sender has arrived; after that guarded like `parts`
  int to = 0;
  int tag = 0;
};

class LocalGroup;

/// A rank's place in a group.
struct Seat {
  std::shared_ptr<LocalGroup> group;  ///< null: in no group
  int rank = 0;
};

/// A collective, several coalesced collectives, or a message, which at least one rank has reached.
///
/// Its states are gathering -> running -> complete, or gathering -> failed. On GPUs, running ->
/// failed if its work cannot be queued. It leaves gathering under the group's mutex. So a rank that
/// gives up either keeps the others from touching its memory, or knows that all ranks have arrived
/// and that the work will end.
struct Operation {
  enum class State : std::uint8_t { gathering, running, complete, failed };

  std::int64_t number = 0;         ///< counted from 1, the same on all ranks; 0: a message
  std::optional<Message> message;  ///< with the sender's part and the receiver's
  int first_rank = 0;              ///< the rank that the others' signatures are compared with
  std::vector<Signature> signatures;
  int arrived = 0;          ///< guarded by the group's mutex
  std::vector<Part> parts;  ///< in the order that make_plan takes; fixed from `running` on
  std::vector<Seat> seats;  ///< of a split, by rank; fixed from `complete` on
  std::shared_ptr<const Failure> failure;  ///< set before `failed`
  Plan plan;
  /// On GPUs, by rank: after it the rank's share of the work is done. Fixed from `complete` on.
  std::vector<std::shared_ptr<const Event>> ended;
  CopyTimes times{};  ///< from the arrival of the last rank to the end; fixed from `complete` on
  /// On GPUs, by rank: times of its side stream. Fixed from `complete` on. Empty: nobody asked.
  std::vector<std::shared_ptr<const cuda::StreamTimes>> side_times;

  std::atomic<State> state{State::gathering};
  std::atomic<std::int64_t> claimed{0};
  std::atomic<std::int64_t> done{0};
  std::atomic<int> parked{0};
  std::condition_variable changed;  // used with the group's mutex

  /// "all_reduce number 3".
  std::string title() const;
  bool takes_part(int rank) const noexcept {
    return !message || message->from == rank || message->to == rank;
  }
  /// Bytes that rank `to` gets from rank `from` in the i-th collective.
  std::size_t bytes(std::size_t i, int from, int to) const;
};

/// What the ranks of a local communicator share.
class LocalGroup : public std::enable_shared_from_this<LocalGroup> {
 public:
  /// @param transport  null: the GPUs' own kernels and copies, or the host's.
  /// @throws InvalidArgument  the algorithm does not exist or refuses the group.
  LocalGroup(std::vector<Device> devices,
             GroupOptions options,
             std::shared_ptr<Transport> transport = nullptr);

  int size() const noexcept { return static_cast<int>(devices_.size()); }
  bool on_gpus() const noexcept { return devices_.front().type == DeviceType::cuda; }
  Device device(int rank) const noexcept { return devices_[static_cast<std::size_t>(rank)]; }

  const GroupOptions& options() const noexcept { return options_; }
  Transport* transport() const noexcept { return transport_.get(); }

  /// The algorithm for a collective: its own, or else the group's. Null: direct.
  ///
  /// @throws InvalidArgument  the algorithm that the collective names refuses it.
  const Algorithm* choose(const Collective& collective) const;

  /// Registers a rank's parts in its next collectives, which are coalesced into one operation. The
  /// last rank to arrive starts the work and helps with it.
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
  /// Gives up on an operation. Afterwards no thread touches the rank's memory.
  void leave(Operation& op, int rank) noexcept;

  /// Fails the group and the groups split from it.
  void abort(const std::string& reason) noexcept;
  /// Fails this group only, because one of its ranks was destroyed.
  void retire(int rank) noexcept;
  void reset();

  /// The last operations of each rank, as JSON; see Communicator.
  std::string flight_record() const;

  /// "rank 1 (cpu:1)".
  std::string rank_name(int rank) const;

 private:
  using Clock = std::chrono::steady_clock;
  /// How long a rank waits for the others. With the group's timeout: until their devices have not
  /// begun any work for that long. With a caller's own timeout: that long, whatever the devices do.
  struct Patience {
    std::chrono::milliseconds timeout;
    Deadline deadline;
  };

  FlightRecorder& recorder(int rank) { return recorders_[static_cast<std::size_t>(rank)]; }
  void note_start(const Operation& op,
                  int rank,
                  const Signature& first,
                  std::size_t collectives,
                  const Part& part) noexcept;
  void note_end(const Operation& op, int rank) noexcept;
  std::string record(const Failure* failure) const;
  void write_record() const noexcept;

  std::int64_t next_number(int rank) const { return reached_[static_cast<std::size_t>(rank)] + 1; }
  std::shared_ptr<Operation> next_operation(int rank, std::vector<Signature>& signatures);
  std::shared_ptr<Operation> find_post(const Message& message, Collective::Kind kind) const;
  void check_signatures(const Operation& op, int rank, const std::vector<Signature>& signatures);
  void check_ends(const Operation& op, int rank, Signature signature);
  void begin(Operation& op);
  void start(Operation& op, Plan plan);
  void seat_ranks(Operation& op);
  void fail(Failure::Kind kind, const std::string& text);
  void end_waiting();
  void await(Operation& op, int rank, std::chrono::milliseconds timeout);
  void run(Operation& op);
  void work(Operation& op) noexcept;
  void queue(Operation& op);
  void wake(Operation& op) noexcept;
  void park(Operation& op, Operation::State seen);
  Patience patience_of(std::chrono::milliseconds timeout) const;
  void check_patience(Operation& op, int rank, const Patience& patience);
  std::string absence(const Operation& op) const;

  const std::vector<Device> devices_;
  const GroupOptions options_;
  const std::shared_ptr<Transport> transport_;
  std::mutex queueing_;  // held while the work of an operation is being queued
  const FlightRecorder::Moment origin_ = std::chrono::steady_clock::now();
  std::deque<FlightRecorder> recorders_;  // by rank; each guards itself
  const Algorithm* algorithm_ = nullptr;  // for collectives that name none; null: direct

  // Guards what follows, and the members of Operation that say so. `fail`, `end_waiting` and the
  // functions above them that use these members are called with it held.
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<Operation>> pending_;  // not yet reached by all ranks, oldest first
  std::deque<std::shared_ptr<Operation>> posts_;    // messages with one end so far, oldest first
  std::vector<std::weak_ptr<LocalGroup>>
      children_;  // split from this group; their mutexes are locked after this one
  std::vector<std::int64_t> reached_;       // by rank: number of collectives that it has reached
  std::shared_ptr<const Failure> failure_;  // null while the group is usable
};

/// Makes the ranks of a new group. `transport` may be null.
std::vector<std::unique_ptr<Communicator>> make_ranks(std::span<const Device> devices,
                                                      GroupOptions options,
                                                      std::shared_ptr<Transport> transport);

/// Queues all of an operation's work on the side streams of the ranks' GPUs, after the work that is
/// already there and after the parts' events. Sets `ended` and, if observers ask for them, times.
/// Waits only for staging.
///
/// @throws DeviceError, OutOfMemory  part of the work may have been queued; see drain_gpus.
void queue_on_gpus(const LocalGroup& group, Operation& op);
/// Waits for the side streams of the ranks' GPUs after a failure, when nothing else keeps the
/// memory that they use until they are done.
void drain_gpus(const LocalGroup& group) noexcept;

}  // namespace tandem::comm
