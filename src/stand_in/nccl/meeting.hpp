// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "stand_in/nccl/part.hpp"

namespace tandem::stand_in {

/// A rank's part, as the collective or the message has it.
struct RankPart {
  std::size_t rank;
  Part part;
};

/// Queues a collective, or a message, for which all have come: NCCL's thread puts what each rank
/// does on the rank's stream. Nobody writes before all streams have come to it, and all have read;
/// then each rank writes what it gets, so that it may have its own while another one has not.
///
/// @param uses_peers  GPUs reach each other's memory, or change its bytes, or hang.
/// @return  by place, the end of what the rank does.
std::vector<std::shared_ptr<Mark>> meet(Machine& m,
                                        std::vector<RankPart> places,
                                        std::size_t ranks,
                                        bool uses_peers);

}  // namespace tandem::stand_in
