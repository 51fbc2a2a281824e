// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Groups split from a local group: the rank that comes last makes them for all.

#include <algorithm>
#include <map>
#include <utility>

#include "comm/local_group.hpp"

namespace tandem::comm {

void LocalGroup::seat_ranks(Operation& op) {
  std::map<int, std::vector<std::pair<int, int>>> members;  // (key, rank) by color
  for (int r = 0; r < size(); ++r) {
    const Part& part = op.parts[static_cast<std::size_t>(r)];
    if (part.color >= 0) members[part.color].emplace_back(part.key, r);
  }
  op.seats.resize(devices_.size());
  std::erase_if(children_, [](const auto& child) { return child.expired(); });
  for (auto& [color, ranks] : members) {
    std::ranges::sort(ranks);
    std::vector<Device> devices;
    for (const auto& [key, r] : ranks)
      devices.push_back(device(r));
    GroupOptions options = options_;
    options.algorithm = "direct";  // one that takes this group's ranks may refuse those
    auto transport = transport_ == nullptr ? nullptr : transport_->make(devices);
    const auto group =
        std::make_shared<LocalGroup>(std::move(devices), std::move(options), std::move(transport));
    for (std::size_t i = 0; i < ranks.size(); ++i)
      op.seats[static_cast<std::size_t>(ranks[i].second)] = {group, static_cast<int>(i)};
    children_.push_back(group);
  }
}

}  // namespace tandem::comm
