// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/algorithms/groups.hpp"

#include "tandem/core/check.hpp"

namespace tandem::comm {

int group_of(const Problem& p) noexcept {
  if (p.group != 0) return p.group;
  int group = 1;
  for (int g = 2; g * g <= p.ranks; ++g)
    if (p.ranks % g == 0) group = g;
  return group;
}

std::string refuse_uneven_groups(const Problem& p) {
  const int group = group_of(p);
  if (group > 1 && group < p.ranks && p.ranks % group == 0) return "";
  if (p.group == 0)
    return detail::concat(
        "needs groups of equal size, and ", p.ranks, " ranks cannot form any; use ring");
  return detail::concat("needs a group size that cuts the ",
                        p.ranks,
                        " ranks into two or more groups of two or more, not ",
                        p.group,
                        "; leave the size out, or use ring");
}

}  // namespace tandem::comm
