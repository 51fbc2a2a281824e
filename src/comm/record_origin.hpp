// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/world/world.hpp"

namespace tandem::comm {

/// Which process of which run a record is written by.
struct RecordOrigin {
  /// @param world  null: this process alone.
  explicit RecordOrigin(const world::World* world);

  std::string run = {};  ///< see World::run; "": there is no world
  int process = 0;
  std::vector<world::Peer> processes;  ///< of the run, by number
  /// From this process's steady clock to process 0's; none: it is not known.
  std::optional<world::ClockOffset> clock = world::ClockOffset{};
};

}  // namespace tandem::comm
