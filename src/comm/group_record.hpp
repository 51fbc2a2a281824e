// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "tandem/comm/group.hpp"

#include "comm/flight_recorder.hpp"
#include "comm/operation.hpp"
#include "comm/rank_table.hpp"
#include "comm/record_origin.hpp"

namespace tandem::comm {

/// What a group keeps of its ranks' last operations, to show it and to write it when the group
/// fails.
///
/// Thread-safe.
class GroupRecord {
 public:
  /// @param options  its dump_folder is where write() puts a file; empty: nowhere.
  /// @param group    the group's name in all processes that have ranks of it; "": it is of this
  ///                 process alone.
  GroupRecord(const RankTable& ranks, const GroupOptions& options, std::string group);

  /// A rank has reached an operation.
  ///
  /// @param part  of the first of `collectives` coalesced ones.
  void note_start(const Operation& op,
                  int rank,
                  const Signature& first,
                  std::size_t collectives,
                  const Part& part) noexcept;
  /// A rank has the operation's result, or goes on without.
  void note_end(const Operation& op, int rank) noexcept;
  /// The record as JSON; see Communicator. @param failure  null: the group is usable.
  std::string json(const Failure* failure) const;
  /// Writes the record into a file of the folder. A failure to write is not told.
  void write(const Failure* failure) const noexcept;

 private:
  FlightRecorder& recorder(int rank) { return recorders_[static_cast<std::size_t>(rank)]; }

  const RankTable& ranks_;
  const std::string folder_;
  const RecordOrigin from_;
  const std::string group_;
  const FlightRecorder::Moment origin_;
  std::deque<FlightRecorder> recorders_;  // by rank
};

}  // namespace tandem::comm
