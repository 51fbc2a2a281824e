// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tandem/runtime/event.hpp"

#include "comm/collective_plan.hpp"
#include "comm/failure.hpp"
#include "runtime/copy_times.hpp"

namespace tandem::comm {

class Meeting;

/// The two ends of a message: a send and its recv.
struct Message {
  int from = 0;  ///< may be any_source
  int to = 0;
  int tag = 0;
};

/// A rank's place in a group.
struct Seat {
  std::shared_ptr<Meeting> meeting;  ///< null: in no group
  int rank = 0;
};

/// "all_reduce number 3", "2 coalesced collectives (all_reduce, ...) number 4".
std::string title_of(std::span<const Signature> signatures, std::int64_t number);

/// A collective, several coalesced collectives, or a message, which at least one rank has reached.
///
/// Its states are gathering -> running -> complete, or gathering -> failed, or running -> failed.
/// It leaves gathering under the meeting's mutex. So a rank that gives up either keeps the others
/// from touching its memory, or knows that all ranks have arrived. From running on, only the engine
/// that carries the operation out ends it.
struct Operation {
  enum class State : std::uint8_t { gathering, running, complete, failed };

  const std::uint64_t id = next_id();  ///< of no other operation of this process
  std::int64_t number = 0;             ///< counted from 1, the same on all ranks; 0: a message
  std::int64_t generation = 0;         ///< of the meeting, which counts its resets
  std::optional<Message> message;  ///< as its first end says; sender's part, then the receiver's
  /// Who sends the message: any_source until a sender has been found, by the one who set is_taken.
  std::atomic<int> source{any_source};
  int first_rank = 0;  ///< the rank that the others' signatures are compared with
  std::vector<Signature> signatures;
  int arrived = 0;  ///< guarded by the meeting's mutex
  std::vector<Part>
      parts;  ///< in the order that make_collective_plan takes; fixed from `running` on
  std::vector<Seat> seats;  ///< of a split, by rank; set once it is complete, by Meeting::seat
  std::shared_ptr<const Failure> failure;  ///< set before `failed`
  CollectivePlan plan;
  /// On GPUs: after it the work of all ranks is done. Fixed from `complete` on.
  std::shared_ptr<const Event> ended;
  CopyTimes times{};  ///< from the arrival of the last rank to the end; fixed from `complete` on
  /// On GPUs, by rank: times of its side stream. Fixed from `complete` on. Empty: nobody asked.
  std::vector<std::shared_ptr<const StreamTimes>> side_times;

  std::atomic<State> state{State::gathering};
  /// A message: its other end has been found, in this process or in another one, or will not be
  /// looked for any more. Whoever sets it goes on with the message; nobody else does.
  std::atomic<bool> is_taken{false};
  std::atomic<std::int64_t> claimed{0};  ///< slices that threads of the host have taken
  std::atomic<std::int64_t> done{0};     ///< slices that they have done

  /// "all_reduce number 3".
  std::string title() const;
  /// What a Desync says of a difference between its ranks' signatures.
  std::string desync(const std::string& difference) const;
  bool takes_part(int rank) const noexcept {
    return !message || source == rank || message->to == rank;
  }
  /// Bytes that rank `to` gets from rank `from` in the i-th collective.
  std::size_t bytes(std::size_t i, int from, int to) const;

  /// Whether all of its memory has data, so that it can be carried out.
  bool has_data() const noexcept;
  /// All ranks have arrived: gathering -> running, or complete if the plan has nothing to do, or
  /// there is no data.
  void start(CollectivePlan what);
  /// running -> complete. Wakes those who wait.
  void finish() noexcept;
  /// Ends it without its result. Wakes those who wait.
  void fail(std::shared_ptr<const Failure> why) noexcept;
  /// Wakes those who wait, because they can help or because the state has changed.
  void wake() noexcept;
  /// Sleeps until the state is no longer `seen`, or for a moment.
  void park(State seen);

 private:
  static std::uint64_t next_id() noexcept;

  std::atomic<int> parked_{0};
  std::mutex parking_;
  std::condition_variable changed_;  // used with parking_
};

}  // namespace tandem::comm
