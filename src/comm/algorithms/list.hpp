// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/comm/algorithms.hpp"

namespace tandem::comm {

// All algorithms. Each has its own file.
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
const Algorithm& native() noexcept;

/// The refusal of algorithms that take any number of ranks: none.
inline std::string refuse_none(const Problem&) {
  return "";
}

}  // namespace tandem::comm
