// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/runtime/context.hpp"

namespace tandem::parallel {

/// What the ranks have told each other before a forward.
struct ForwardRows {
  std::vector<std::int64_t> rows;  ///< by rank; -1: the rank has joined
  bool syncs = true;               ///< the ranks that have not joined reduce their gradients
  bool same_order = true;          ///< all ranks have used their units in the same orders so far
  std::uint64_t forwards = 0;      ///< the most that a rank's generator has counted

  bool is_active(int rank) const { return rows[static_cast<std::size_t>(rank)] >= 0; }
  std::int64_t all_rows() const;
  /// A rank's rows in the batch of all ranks.
  RowRange range_of(int rank) const;
  /// The number of ranks that have not joined.
  int active() const;
  /// The first rank that has not joined; -1 if all have.
  int first_active() const;
};

}  // namespace tandem::parallel
