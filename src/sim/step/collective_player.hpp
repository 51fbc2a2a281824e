// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "tandem/profile/step_record.hpp"
#include "tandem/sim/cluster.hpp"

#include "sim/links/collective_steps.hpp"
#include "sim/step/task_graph.hpp"

namespace tandem::sim {

/// Plays collectives on a machine's links: CollectiveTimes::as_run.
class CollectivePlayer {
 public:
  /// @param gpus  the numbers of those devices that are GPUs; outlives the player
  CollectivePlayer(const profile::StepRecord& record,
                   const Cluster& cluster,
                   const std::map<Device, int>& gpus)
      : cluster_(cluster), steps_(record, gpus) {}

  /// Adds what a collective moves, to run during the task `collective`, after that one's seconds.
  ///
  /// @param parts  GPU, and its part that begins
  void play(TaskGraph& graph,
            int collective,
            std::uint64_t id,
            std::span<const std::pair<int, std::size_t>> parts);

  /// The first and the last transfer of a collective over a link; tasks.
  struct OnLink {
    int first, last;
  };
  /// None: nothing of it went from GPU `from` to GPU `to`.
  std::optional<OnLink> on_link(std::uint64_t id, int from, int to) const;

 private:
  /// How long a GPU takes to add what came through the host or the network, and lies in its memory.
  double adding_seconds(int gpu, std::span<const CollectiveStep::Added> added) const;
  const Path& way(int from, int to);

  const Cluster& cluster_;
  CollectiveSteps steps_;
  std::map<std::pair<int, int>, Path> ways_;
  std::map<std::tuple<std::uint64_t, int, int>, OnLink> on_links_;
};

}  // namespace tandem::sim
