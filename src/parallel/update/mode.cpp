// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/mode.hpp"

#include <algorithm>

#include "parallel/update/mode_rules.hpp"

namespace tandem::parallel {

const char* name(Mode mode) noexcept {
  return rules_of(mode).name;
}

std::optional<Mode> parse_mode(std::string_view text) noexcept {
  const auto mode = std::ranges::find(kModes, text, [](Mode m) { return name(m); });
  if (mode == kModes.end()) return std::nullopt;
  return *mode;
}

}  // namespace tandem::parallel
