// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/plan.hpp"

namespace tandem::comm {

/// This rank makes what its tensors must not keep: it needs memory besides them.
bool needs_scratch(const Signature& signature, int ranks, int rank, const GroupOptions& options);

/// A collective by its signature's algorithm, carried out in the ranks' outputs: a piece for each
/// range and set of sources of a step. First come copies of inputs that are no outputs, and the
/// ranks' factors; a mean is divided last.
///
/// @param parts  by rank.
/// @return the schedule's bytes.
Traffic add_scheduled_pieces(const Signature& signature,
                             std::span<const Part> parts,
                             const GroupOptions& options,
                             std::vector<Piece>& pieces);

}  // namespace tandem::comm
