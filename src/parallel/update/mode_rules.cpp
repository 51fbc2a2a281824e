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

std::string list_modes(bool (ModeRules::*holds)() const noexcept,
                       const char* (*shown)(const ModeRules& row)) {
  std::vector<const char*> names;
  for (const ModeRules& row : mode_table())
    if ((row.*holds)()) names.push_back(shown(row));
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += std::string(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

std::string modes_that(bool (ModeRules::*holds)() const noexcept) {
  const std::string names = list_modes(holds, [](const ModeRules& row) { return row.name; });
  return (names.find(' ') == std::string::npos ? "mode " : "modes ") + names;
}

}  // namespace tandem::parallel
