// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/mode_rules.hpp"

#include <cstddef>
#include <vector>

#include "parallel/update/mode_table.hpp"

namespace tandem::parallel {

const ModeRules& rules_of(Mode mode) noexcept {
  return mode_table()[static_cast<std::size_t>(mode)];
}

std::string modes_that(bool (ModeRules::*holds)() const noexcept) {
  std::vector<std::string> names;
  for (const ModeRules& row : mode_table())
    if ((row.*holds)()) names.emplace_back(row.name);
  std::string text = names.size() == 1 ? "mode " : "modes ";
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace tandem::parallel
