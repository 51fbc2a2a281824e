// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tandem/runtime/device.hpp"

namespace tandem::comm {

/// The ranks of a group: their devices, and what messages call them.
class RankTable {
 public:
  /// Ranks of this process, which messages know by their devices.
  explicit RankTable(std::vector<Device> devices);
  /// @param places  what messages say of where each rank is: "cpu:1 of process 2".
  RankTable(std::vector<Device> devices, std::vector<std::string> places);

  int size() const noexcept { return static_cast<int>(devices_.size()); }
  const std::vector<Device>& devices() const noexcept { return devices_; }
  Device device(int rank) const noexcept { return devices_[static_cast<std::size_t>(rank)]; }
  /// "rank 1 (cpu:1)".
  std::string name(int rank) const;
  /// The table of a group that is split from this one.
  ///
  /// @param ranks  of this table, by rank of the new group.
  RankTable split(const std::vector<int>& ranks) const;

 private:
  std::vector<Device> devices_;
  std::vector<std::string> places_;
};

}  // namespace tandem::comm
