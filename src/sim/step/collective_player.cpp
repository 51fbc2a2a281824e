// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/step/collective_player.hpp"

#include <set>
#include <vector>

namespace tandem::sim {
void CollectivePlayer::play(TaskGraph& graph,
                            int collective,
                            std::uint64_t id,
                            std::span<const std::pair<int, std::size_t>> parts) {
  std::vector<int> before = {
      graph.add({.seconds = graph.task(collective).seconds, .during = collective})};
  for (const CollectiveStep& step : steps_.of(id, parts)) {
    std::vector<int> whole;
    std::map<int, std::vector<int>> arriving;  // by GPU
    for (const auto& [link, nbytes] : step.moved) {
      const auto [from, to] = link;
      const int task = graph.add({.kind = Task::Kind::transfer,
                                  .after = before,
                                  .nbytes = static_cast<double>(nbytes),
                                  .path = way(from, to),
                                  .during = collective});
      on_links_.try_emplace({id, from, to}, OnLink{task, task}).first->second.last = task;
      arriving[to].push_back(task);
      whole.push_back(task);
    }
    for (const auto& [gpu, added] : step.added)
      if (const double seconds = adding_seconds(gpu, added); seconds > 0)
        whole.push_back(
            graph.add({.after = arriving.at(gpu), .seconds = seconds, .during = collective}));
    if (!whole.empty()) before = {graph.add({.after = whole, .during = collective})};
  }
}

std::optional<CollectivePlayer::OnLink> CollectivePlayer::on_link(std::uint64_t id,
                                                                  int from,
                                                                  int to) const {
  const auto found = on_links_.find({id, from, to});
  return found == on_links_.end() ? std::nullopt : std::optional(found->second);
}

double CollectivePlayer::adding_seconds(int gpu,
                                        std::span<const CollectiveStep::Added> added) const {
  double nbytes = 0;
  std::set<std::pair<std::int64_t, std::int64_t>> own;  // read once and written once
  for (const auto& [from, begin, end] : added) {
    if (ways_.at({from, gpu}).is_peer()) continue;
    const auto arrived = static_cast<double>(end - begin);
    nbytes += own.emplace(begin, end).second ? 3 * arrived : arrived;
  }
  return nbytes / (cluster_.gpus.memory_bandwidth * cluster_.gpus.efficiency.memory);
}

const Path& CollectivePlayer::way(int from, int to) {
  const auto known = ways_.find({from, to});
  if (known != ways_.end()) return known->second;
  return ways_.emplace(std::pair(from, to), path(cluster_, from, to)).first->second;
}

}  // namespace tandem::sim
