// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// The first ten of `items`, with `separator` between, and how many more there are: "a, b and 3
/// more". For errors, which may be about a hundred thousand names.
inline std::string shortened_list(const std::vector<std::string>& items,
                                  std::string_view separator = ", ") {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), kShown); ++i) {
    if (i > 0) text += separator;
    text += items[i];
  }
  if (items.size() > kShown) text += " and " + std::to_string(items.size() - kShown) + " more";
  return text;
}

}  // namespace tandem
