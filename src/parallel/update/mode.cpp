// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/mode.hpp"

#include <algorithm>

#include "parallel/update/mode_rules.hpp"
#include "parallel/update/mode_table.hpp"

namespace tandem::parallel {
namespace {

/// A program's options have hyphens where names have underscores.
char underscored(char c) noexcept {
  return c == '-' ? '_' : c;
}

}  // namespace

const char* name(Mode mode) noexcept {
  return rules_of(mode).name;
}

const ModeWords& words_of(Mode mode) noexcept {
  return rules_of(mode).words;
}

std::optional<Mode> parse_mode(std::string_view text) noexcept {
  const auto names = [text](const char* known) {
    return std::ranges::equal(text, std::string_view(known), {}, underscored, underscored);
  };
  const auto row = std::ranges::find_if(mode_table(), [&](const ModeRules& rules) {
    return names(rules.name) || names(rules.words.option);
  });
  if (row == mode_table().end()) return std::nullopt;
  return row->mode;
}

}  // namespace tandem::parallel
