// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/comm/algorithms.hpp"
#include "tandem/comm/group.hpp"

namespace tandem::comm {

/// Chooses the algorithms for a group's collectives.
class AlgorithmChoice {
 public:
  /// @throws InvalidArgument  the group's algorithm does not exist or refuses the group.
  AlgorithmChoice(const GroupOptions& options, int ranks);

  /// The collective's own algorithm, or else the group's. Null: direct.
  ///
  /// @throws InvalidArgument  the algorithm that the collective names refuses it.
  const Algorithm* choose(const Collective& collective) const;

 private:
  int ranks_;
  int group_;
  const Algorithm* own_ = nullptr;  // for collectives that name none; null: direct
};

}  // namespace tandem::comm
