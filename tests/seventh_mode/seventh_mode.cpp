// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A mode that the library does not have, as one row: with this file the program has seven.

#include <algorithm>
#include <array>
#include <span>

#include "parallel/update/mode_rows.hpp"
#include "parallel/update/mode_table.hpp"

namespace tandem::parallel {
namespace {

/// All devices get all gradients when backward has ended, and update their copies.
constexpr ModeRules kRow{.mode = static_cast<Mode>(kModes.size()),
                         .name = "all_reduce_at_end",
                         .reduction = {.to = Reduction::To::all, .at_end = true},
                         .replication = ModeRules::Replication::when_changed,
                         .sharded = ModeRules::Sharded::nothing,
                         .make_update = by_all<Copies>,
                         .words = {.option = "dp-all-reduce-at-end",
                                   .summary = "all gradients to all devices after backward",
                                   .goal = "to be seen wherever modes are listed",
                                   .divides = "the batch",
                                   .collectives = "all_reduce after backward",
                                   .waits = "all for the end of backward",
                                   .update = "each device, its copy"}};

constexpr auto kRows = [] {
  std::array<ModeRules, kModes.size() + 1> rows{};
  std::ranges::copy(kModeRows, rows.begin());
  rows.back() = kRow;
  return rows;
}();

}  // namespace

std::span<const ModeRules> mode_table() noexcept {
  return kRows;
}

}  // namespace tandem::parallel
