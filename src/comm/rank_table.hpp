// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tandem/runtime/device.hpp"

namespace tandem::comm {

/// The ranks of a group: their devices, the processes that they are in, and what messages call
/// them.
class RankTable {
 public:
  /// Ranks of this process, which messages know by their devices.
  explicit RankTable(std::vector<Device> devices);
  /// @param places     what messages say of where each rank is: "cpu:1 of process 2".
  /// @param processes  by rank, the process's number in its world; ranks of a process stand
  /// together.
  /// @param own        the number of this process.
  /// @param hosts      by rank, the name of the host that it is on; {}: all are on one.
  RankTable(std::vector<Device> devices,
            std::vector<std::string> places,
            std::vector<int> processes,
            int own,
            std::vector<std::string> hosts = {});

  int size() const noexcept { return static_cast<int>(devices_.size()); }
  Device device(int rank) const noexcept { return devices_[static_cast<std::size_t>(rank)]; }
  int process(int rank) const noexcept { return processes_[static_cast<std::size_t>(rank)]; }
  /// Its number among the ranks on its host.
  int local_rank(int rank) const noexcept;
  bool is_here(int rank) const noexcept { return process(rank) == own_; }
  /// The ranks of this process, lowest first.
  const std::vector<int>& here() const noexcept { return here_; }
  /// Their devices.
  std::vector<Device> devices_here() const;
  /// "rank 1 (cpu:1)".
  std::string name(int rank) const;
  /// The table of a group that is split from this one.
  ///
  /// @param ranks  of this table, by rank of the new group.
  RankTable split(const std::vector<int>& ranks) const;

 private:
  std::vector<Device> devices_;
  std::vector<std::string> places_;
  std::vector<int> processes_;
  int own_ = 0;
  std::vector<std::string> hosts_;
  std::vector<int> here_;
};

}  // namespace tandem::comm
