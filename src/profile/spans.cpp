// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "profile/spans.hpp"

#include <algorithm>

namespace tandem::profile {

std::vector<Span> merged(std::vector<Span> spans) {
  std::ranges::sort(spans, {}, &Span::begin);
  std::vector<Span> apart;
  for (const Span& s : spans) {
    if (!apart.empty() && s.begin <= apart.back().end)
      apart.back().end = std::max(apart.back().end, s.end);
    else
      apart.push_back(s);
  }
  return apart;
}

}  // namespace tandem::profile
