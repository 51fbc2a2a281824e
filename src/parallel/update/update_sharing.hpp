// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tandem/optim/arena.hpp"
#include "tandem/optim/arena_sharing.hpp"

#include "parallel/reduce/buckets.hpp"
#include "parallel/units/block_shares.hpp"
#include "parallel/units/sleeping_blocks.hpp"
#include "parallel/update/parameter_update.hpp"

namespace tandem::parallel {

/// What an update by several devices works with.
struct SharedParts {
  std::vector<std::shared_ptr<optim::Arena>> arenas;  ///< by device
  std::shared_ptr<const std::vector<Bucket>> buckets;
  /// Runs a job on the thread of every device. @throws ReplicaError, Timeout
  std::function<void(const std::function<void(int device)>& job)> on_devices;
  std::function<void()> reduce;  ///< reduces gradients that have not been reduced
  std::shared_ptr<const BlockShares> shares = nullptr;         ///< null: devices have whole blocks
  std::vector<std::shared_ptr<SleepingBlocks>> sleeping = {};  ///< by device; empty: none sleep
};

/// An update in which all devices take part.
class UpdateSharing : public ParameterUpdate, public optim::ArenaSharing {
 public:
  explicit UpdateSharing(SharedParts parts);

  optim::ArenaSharing* sharing() noexcept final { return this; }
  void update(const std::function<std::exception_ptr(Device)>& part) final;

 protected:
  int size() const noexcept { return static_cast<int>(shared_.arenas.size()); }
  const std::vector<Bucket>& buckets() const noexcept { return *shared_.buckets; }
  const optim::Arena& arena(int device) const {
    return *shared_.arenas[static_cast<std::size_t>(device)];
  }
  /// Reduces gradients that have not been reduced.
  void reduce_rest() const { shared_.reduce(); }
  const BlockShares& shares() const noexcept { return *shared_.shares; }
  const std::vector<std::shared_ptr<SleepingBlocks>>& sleeping() const noexcept {
    return shared_.sleeping;
  }
  /// Versions of the gradients on device 0, by bucket.
  std::vector<std::uint64_t> versions() const;

 private:
  SharedParts shared_;
};

}  // namespace tandem::parallel
