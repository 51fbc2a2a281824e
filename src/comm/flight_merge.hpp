// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/comm/flight.hpp"

#include "comm/flight_file.hpp"

namespace tandem::comm {

/// Merges the records of a group. Their moments are on one axis of time, and they have the same
/// members.
///
/// If a process has several records, the latest says what it did, and all say why it failed.
/// @param files  at least one
FlightGroup merge_flight_group(const std::vector<const FlightFile*>& files);

}  // namespace tandem::comm
