// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/group.hpp"

#include "comm/engine.hpp"
#include "comm/rank_table.hpp"

namespace tandem::comm {

/// Makes this process's ranks of a new group.
///
/// @throws InvalidArgument  the group's algorithm does not exist or refuses the group.
std::vector<std::unique_ptr<Communicator>> make_ranks(RankTable ranks,
                                                      GroupOptions options,
                                                      std::shared_ptr<Engine> engine);

}  // namespace tandem::comm
