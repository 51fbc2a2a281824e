// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/mode.hpp"

#include <algorithm>

#include "parallel/update/mode_rules.hpp"
#include "parallel/update/mode_table.hpp"

namespace tandem::parallel {

const char* name(Mode mode) noexcept {
  return rules_of(mode).name;
}

const ModeWords& words_of(Mode mode) noexcept {
  return rules_of(mode).words;
}

std::optional<Mode> parse_mode(std::string_view text) noexcept {
  const auto row = std::ranges::find(mode_table(), text, &ModeRules::name);
  if (row == mode_table().end()) return std::nullopt;
  return row->mode;
}

}  // namespace tandem::parallel
