// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/comm/group.hpp"
#include "tandem/optim/arena.hpp"
#include "tandem/parallel/options.hpp"

#include "parallel/replicas/call/rank_rows.hpp"
#include "parallel/replicas/device/replica_source.hpp"

namespace tandem::parallel {

/// The rows of all processes as one batch, those of process 0 first.
struct WholeBatch {
  std::int64_t rows = 0;
  std::int64_t before = 0;  ///< of earlier processes
  int first = -1;           ///< the first rank of all devices that has rows; -1: none has
  int idle_process = -1;    ///< the first process without rows; -1: all have some
};

/// What all processes have of a step, once they have agreed to it.
struct WholeStep {
  double sum = 0, weight = 0;  ///< of the loss
  bool has_no_effect = false;
};

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

 private:
  friend class ReplicaWorld;

  std::unique_ptr<comm::Communicator> all_, across_;
  int first_here_;  // rank of this process's first device
  std::unique_ptr<RankRows> rows_;
};

/// The processes that train one module together: each has replicas on its own devices, and a part
/// of each batch.
class ReplicaWorld {
 public:
  /// @throws InvalidArgument  the processes have different numbers of devices, or options that
  ///         would make them exchange other things.
  ReplicaWorld(const std::vector<Device>& devices, const DataParallelOptions& options);

  WorldRank& rank(int device) const { return *ranks_[static_cast<std::size_t>(device)]; }
  /// Processes of this host, which share its cores.
  int processes_here() const noexcept { return processes_here_; }
  /// Gives all processes the values of process 0's module.
  ///
  /// @param arenas  of the module; null: it has no such tensors.
  /// @throws Desync  a process has another module.
  void share(ReplicaSource& module, const std::vector<std::shared_ptr<optim::Arena>>& arenas) const;
  void abort(const std::string& reason) const noexcept;
  /// All processes call it after a failure.
  void reset() const;

 private:
  std::vector<std::unique_ptr<WorldRank>> ranks_;  // by device
  int processes_here_;
};

}  // namespace tandem::parallel
