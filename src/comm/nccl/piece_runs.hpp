// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "comm/collective_plan.hpp"

// Pieces in a row that are one collective of NCCL's, which moves them all at once: one for each
// rank, of equal size, side by side in the memory that holds the whole.
namespace tandem::comm {

/// Each rank's part goes to all ranks.
bool is_all_gather(std::span<const Piece* const> pieces, std::size_t ranks);
/// Each rank gets its part of the reduction of all ranks' wholes.
bool is_reduce_scatter(std::span<const Piece* const> pieces, std::size_t ranks);

}  // namespace tandem::comm
