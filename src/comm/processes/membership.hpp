// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/rank_table.hpp"

namespace tandem::comm {

/// The native collectives of a group, one after another.
struct NativeOrder {
  int order = 0;  ///< see ProcessLinks::Native
  std::atomic<std::uint32_t> count{0};
};

/// A group that spans processes, as its messages see it. Its processes are numbered in the order of
/// their ranks, which is the order in which partial results are combined.
struct Membership {
  /// @param group  the same in all processes, and of no other group
  Membership(RankTable table, std::uint64_t group);

  RankTable ranks;
  std::uint64_t group = 0;
  std::vector<int> processes;           ///< numbers in the world
  std::vector<std::vector<int>> seats;  ///< by process of the group, its ranks
  int own = 0;                          ///< this process, among `processes`
  /// The order of the group's native collectives. Null: they are direct.
  std::shared_ptr<NativeOrder> natives = nullptr;

  int size() const noexcept { return static_cast<int>(processes.size()); }
  /// The process of the group that a rank is in.
  int place(int rank) const;
  const std::vector<int>& own_ranks() const noexcept { return ranks.here(); }
  /// The first rank of a process of the group: "rank 2 (cpu:0 of process 1 on node1, pid 4711)".
  std::string name(int place) const;
  /// All of them: "rank 2 (cpu:0 of process 1 on node1, pid 4711)", "ranks 2 to 3 (of process 1 on
  /// node1, pid 4711)".
  std::string all_names(int place) const;
  /// The first rank by the process's number in the world; "": it has none of the ranks.
  std::string who(int process) const;
};

}  // namespace tandem::comm
