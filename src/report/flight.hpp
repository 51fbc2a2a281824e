// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "tandem/comm/flight.hpp"

namespace tandem::report {

/// What went wrong first in the latest run, then its groups with their last collectives.
std::string flight_text(const comm::Flight& flight);
/// All runs as one object, with a "schema_version".
nlohmann::json flight_json(const comm::Flight& flight);

/// "rank 2 (cpu:0 of process 1 on node1, pid 4711)".
std::string rank_name(const comm::FlightRun& run, const comm::FlightGroup& group, int rank);
/// "all_reduce number 21".
std::string title(const comm::FlightCollective& collective);

}  // namespace tandem::report
