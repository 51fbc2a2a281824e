// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/collective_plan.hpp"

namespace tandem::comm {

/// The task of the collective's algorithm.
Problem problem_of(const Signature& signature, int ranks, const GroupOptions& options);

/// Whether this rank needs scratch memory, for intermediate values that its tensors must not hold.
bool needs_scratch(const Signature& signature, int ranks, int rank, const GroupOptions& options);

/// Adds the pieces of a collective that its signature's algorithm carries out in the ranks'
/// outputs, one for each range and set of sources of a step. Copies of inputs that are not outputs
/// come first, together with the ranks' factors. The division of a mean comes last.
///
/// @param parts  by rank.
/// @return the schedule's bytes from rank to rank.
Traffic add_scheduled_pieces(const Signature& signature,
                             std::span<const Part> parts,
                             const GroupOptions& options,
                             std::vector<Piece>& pieces);

}  // namespace tandem::comm
