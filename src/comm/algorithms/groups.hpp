// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Groups of equal size, for algorithms in two levels.
#pragma once

#include <string>

#include "tandem/comm/algorithms.hpp"

namespace tandem::comm {

/// The number of ranks in a group, as given or chosen.
int group_of(const Problem& problem) noexcept;
/// Refuses unless the ranks divide into at least two equal groups of at least two.
std::string refuse_uneven_groups(const Problem& problem);

}  // namespace tandem::comm
