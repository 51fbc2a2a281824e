// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

namespace tandem {

/// Whether `text` is like `pattern`, in which `*` stands for any text without the character `stop`;
/// 0: for any text.
inline bool matches(std::string_view pattern, std::string_view text, char stop = 0) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() != '*')
    return !text.empty() && pattern.front() == text.front() &&
           matches(pattern.substr(1), text.substr(1), stop);
  const std::size_t most = stop == 0 ? text.size() : std::min(text.find(stop), text.size());
  for (std::size_t skip = 0; skip <= most; ++skip)
    if (matches(pattern.substr(1), text.substr(skip), stop)) return true;
  return false;
}

}  // namespace tandem
