// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/comm/flight.hpp"
#include "tandem/world/world.hpp"

namespace tandem::comm {

/// A record that a process has written of a group, read and checked: all numbers are in their
/// ranges, so that sums of moments do not overflow. Its moments are by the process's steady clock.
struct FlightFile {
  static constexpr const char* kFormat = "tandem flight record";
  static constexpr int kVersion = 1;

  struct Operation {
    std::int64_t number = 0;  ///< 0: a message
    std::int64_t generation = 0;
    std::int64_t tag = 0;
    FlightArrival arrival = {};
  };
  struct Rank {
    int rank = 0;
    std::vector<Operation> operations = {};
  };

  std::string path;
  std::string run = {};  ///< "": there was no world
  int process = 0;
  std::vector<FlightProcess> processes = {};
  std::string group = {};
  std::vector<FlightRank> members = {};
  std::optional<std::string> failure = std::nullopt;
  std::vector<Rank> ranks = {};
  /// When it was written, by both clocks.
  std::chrono::microseconds steady{0}, wall{0};
  std::optional<world::ClockOffset> clock = std::nullopt;
};

/// @throws FileError  it cannot be read, or is no record of this version.
FlightFile read_flight_file(const std::string& path);

}  // namespace tandem::comm
