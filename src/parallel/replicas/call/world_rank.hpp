// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tandem/comm/group.hpp"

#include "parallel/replicas/call/rank_rows.hpp"
#include "parallel/replicas/call/whole_batch.hpp"

namespace tandem::parallel {

/// A device of this process among the devices of all processes.
///
/// To be used on the device's thread. The functions are collective: the threads of all devices of
/// all processes call them, in the same order.
class WorldRank {
 public:
  /// @param all     the devices of all processes.
  /// @param across  the devices with this one's index, by process.
  /// @param index   of the device, in its process.
  WorldRank(std::unique_ptr<comm::Communicator> all,
            std::unique_ptr<comm::Communicator> across,
            int index);

  comm::Communicator& all() const noexcept { return *all_; }
  comm::Communicator& across() const noexcept { return *across_; }
  /// Tells the others how many rows this device has, which may be none. Makes the group of those
  /// that have some.
  WholeBatch exchange(std::int64_t rows);
  /// The devices with rows, as the replicas of one batch; null if this one has none. Tapes keep it.
  const std::shared_ptr<RowGroup>& row_group() const noexcept { return rows_->group(); }
  /// By place, 1 if any device has one there.
  std::vector<std::uint8_t> used_anywhere(const std::vector<std::uint8_t>& used) const;
  /// The vote of all devices, with their parts of the loss.
  WholeStep agree(const WholeStep& own) const;
  /// The values of the devices with this one's index, those of process 0 first.
  std::vector<std::int64_t> gather(const std::vector<std::int64_t>& own) const;
  /// Forgets the group of rows, of which some processes may have made the next one, and others not.
  void forget_rows();

 private:
  std::unique_ptr<comm::Communicator> all_, across_;
  int first_here_;  // rank of this process's first device
  std::unique_ptr<RankRows> rows_;
};

}  // namespace tandem::parallel
