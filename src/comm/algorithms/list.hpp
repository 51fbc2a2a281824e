// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/comm/algorithms.hpp"

namespace tandem::comm {

// One file each.
const Algorithm& direct() noexcept;
const Algorithm& reduce_broadcast() noexcept;
const Algorithm& halving_doubling() noexcept;
const Algorithm& butterfly() noexcept;
const Algorithm& ring() noexcept;
const Algorithm& segmented_ring() noexcept;
const Algorithm& binary_tree() noexcept;
const Algorithm& double_binary_tree() noexcept;
const Algorithm& hierarchical_ring() noexcept;
const Algorithm& torus_2d() noexcept;

/// For algorithms that take any number of ranks.
inline std::string refuse_none(const Problem&) {
  return "";
}

/// Ranks of a group, as asked for or chosen.
int group_of(const Problem& problem) noexcept;
/// Refuses groups that do not divide the ranks into several of several.
std::string refuse_uneven_groups(const Problem& problem);

}  // namespace tandem::comm
