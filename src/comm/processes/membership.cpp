// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/membership.hpp"

#include <algorithm>
#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::comm {

using tandem::detail::concat;

Membership::Membership(RankTable table, std::uint64_t id) : ranks(std::move(table)), group(id) {
  for (int r = 0; r < ranks.size(); ++r) {
    const auto known = std::ranges::find(processes, ranks.process(r));
    if (known == processes.end()) {
      if (ranks.is_here(r)) own = size();
      processes.push_back(ranks.process(r));
      seats.push_back({r});
    } else {
      seats[static_cast<std::size_t>(known - processes.begin())].push_back(r);
    }
  }
}

int Membership::place(int rank) const {
  return static_cast<int>(std::ranges::find(processes, ranks.process(rank)) - processes.begin());
}

std::string Membership::name(int place) const {
  return ranks.name(seats[static_cast<std::size_t>(place)].front());
}

std::string Membership::all_names(int place) const {
  const std::vector<int>& all = seats[static_cast<std::size_t>(place)];
  if (all.size() == 1) return name(place);
  std::string numbers;
  if (all.back() - all.front() + 1 == static_cast<int>(all.size()))
    numbers = concat(all.front(), " to ", all.back());
  else
    for (const int rank : all)
      numbers += concat(numbers.empty() ? "" : ", ", rank);
  const std::string first = name(place);
  return concat("ranks ", numbers, " (", first.substr(first.find(" of ") + 1));
}

std::string Membership::who(int process) const {
  const auto known = std::ranges::find(processes, process);
  return known == processes.end() ? "" : name(static_cast<int>(known - processes.begin()));
}

}  // namespace tandem::comm
