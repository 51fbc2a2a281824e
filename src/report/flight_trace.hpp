// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/comm/flight.hpp"

namespace tandem::report {

/// The collectives of a run as Chrome's trace events: a process for each group, with a track for
/// each rank. A span goes from a rank's coming to its end, or, if it has none, to the last moment
/// of the run; "waits" within it ends when all had come.
std::string flight_trace(const comm::FlightRun& run);

}  // namespace tandem::report
