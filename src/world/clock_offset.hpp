// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tandem/world/address.hpp"
#include "tandem/world/world.hpp"

namespace tandem::world {

/// Asks a WatchServer for its time, a few times over a connection of its own, and takes the answer
/// that came soonest.
///
/// @return  none: it cannot be reached, says nonsense, or is silent for a second.
/// @cost  up to eight round trips; after three milliseconds no other one begins.
std::optional<ClockOffset> measure_clock_offset(const Address& server) noexcept;

}  // namespace tandem::world
