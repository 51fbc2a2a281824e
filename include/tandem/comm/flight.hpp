// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tandem::comm {

/// Microseconds since the first moment that the records of a run have, by process 0's steady clock.
using FlightMoment = std::chrono::microseconds;

/// What a rank had a group do; all ranks must have it alike.
struct FlightCall {
  std::string kind;        ///< "all_reduce"
  std::string dtype;       ///< "f32"
  std::string op;          ///< of a reduction: "sum"
  std::string algorithm;   ///< "direct"
  std::int64_t count = 0;  ///< elements of the tensors that are equal on all ranks; 0: none are
  int root = -1;           ///< of a message, the rank at the other end; -1: any, or none
  std::int64_t collectives = 1;  ///< coalesced; the other fields are the first one's
};

/// A rank's coming to a collective.
struct FlightArrival {
  int rank = 0;
  FlightCall call = {};
  std::int64_t elements = 0;  ///< of the rank's own tensor
  FlightMoment came{0};
  std::optional<FlightMoment> met = std::nullopt;    ///< when all ranks had come
  std::optional<FlightMoment> ended = std::nullopt;  ///< when its result was there, or it failed
  std::string state = {};                            ///< "started", "completed" or "failed"
};

/// A field in which two ranks' calls differ.
struct FlightDifference {
  std::string field;  ///< "operation", "dtype", "count", "reduction", "root", "algorithm", ...
  int rank = 0;       ///< the lowest rank that has come
  std::string value = {};
  int other = 0;  ///< the lowest one that differs from it
  std::string other_value = {};
};

/// A collective of a group, as the records of all its processes have it.
struct FlightCollective {
  std::int64_t generation = 0;  ///< how often the group had been reset before
  std::int64_t number = 0;
  std::vector<FlightArrival> arrivals = {};  ///< whoever came first is first
  bool is_complete = false;                  ///< all ranks came
  std::vector<int> missing = {};  ///< ranks that have not come, by the record of their process
  std::vector<int> unknown = {};  ///< ranks of which no record says whether they came
  std::optional<FlightDifference> difference = std::nullopt;
};

/// A message that has not arrived.
struct FlightMessage {
  FlightArrival arrival;  ///< its call's kind is "send" or "recv", the root the rank it waits for
  std::int64_t tag = 0;
};

/// Why a process says that a group has failed, and when it wrote that.
struct FlightFailure {
  int process = 0;
  FlightMoment at{0};
  std::string text = {};
};

/// A member of a group.
struct FlightRank {
  std::string device;
  int process = 0;  ///< of the run
};

/// A group of ranks.
struct FlightGroup {
  std::string name;
  std::vector<FlightRank> ranks = {};              ///< by rank
  std::vector<int> silent = {};                    ///< its processes that wrote no record of it
  std::vector<FlightCollective> collectives = {};  ///< the last 1,024, oldest first
  std::vector<FlightMessage> messages = {};
  std::vector<FlightFailure> failures = {};  ///< the earliest first
  /// Indices of collectives: the first in which ranks differ, and the first to which some rank has
  /// not come, or is not known to.
  std::optional<std::size_t> first_difference = std::nullopt, first_missing = std::nullopt;
};

/// A process of a run.
struct FlightProcess {
  std::string host;
  int pid = 0;
  std::vector<std::string> files = {};  ///< its records; empty: it wrote none
  /// The most that its moments may be off; none: they are told by the host's wall clock, since the
  /// offset of its steady clock is not known.
  std::optional<std::chrono::microseconds> clock_error = std::nullopt;
};

/// The processes that one launcher has started, or one process that none has.
struct FlightRun {
  std::string name;                           ///< World::run, or the process's host and pid
  std::chrono::microseconds written{0};       ///< its latest record, since 1970
  std::vector<FlightProcess> processes = {};  ///< by number
  std::vector<FlightGroup> groups = {};       ///< whose trouble began first is first
};

/// What the flight records of a folder say.
struct Flight {
  std::vector<FlightRun> runs;        ///< the latest first; at least one
  std::vector<std::string> warnings;  ///< files that were passed over, and why
};

/// Reads all flight records of a folder (GroupOptions::dump_folder) and merges those of each run,
/// on one axis of time.
///
/// Collectives are matched by their group and number. A file that is damaged is passed over, with a
/// warning. Thread-safe.
/// @throws FileError  there is no such folder, or no record in it that can be read; the text says
///                    what to do.
/// @cost  reads the files one after the other; memory is a small multiple of their size.
Flight read_flight(const std::string& folder);

}  // namespace tandem::comm
