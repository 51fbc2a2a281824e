// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tandem/core/check.hpp"

namespace tandem::sim {

/// Refuses measured times that must be in another unit, as all are far from the predicted ones.
///
/// @param name    of the table
/// @param taker   "a machine's links": what would take the predicted times
/// @param remedy  a question to the reader
template <class Row>
void check_unit(const std::string& name,
                const std::vector<Row>& rows,
                const std::string& taker,
                const char* remedy) {
  constexpr double kAnotherUnit = 50;
  const auto all = [&](const auto& is_far) { return std::ranges::all_of(rows, is_far); };
  const bool is_short = all([](const Row& r) { return r.measured * kAnotherUnit < r.predicted; });
  const bool is_long = all([](const Row& r) { return r.measured > kAnotherUnit * r.predicted; });
  TANDEM_CHECK(!is_short && !is_long,
               name,
               ": all times are more than ",
               kAnotherUnit,
               " times ",
               is_short ? "shorter" : "longer",
               " than ",
               taker,
               " would take; ",
               remedy);
}

}  // namespace tandem::sim
