// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/optim/arena_sharing.hpp"
#include "tandem/parallel/detail/rank_replica.hpp"

#include "parallel/ranks/rank_shares.hpp"
#include "parallel/replicas/device/device_replica.hpp"
#include "parallel/units/sleeping_blocks.hpp"

namespace tandem::parallel {

/// The parameters of a rank's module as units, of which this rank has a share: FSDP.
///
/// To be used on the rank's thread. What gathers or reduces is collective.
class RankUnits final : public optim::ArenaSharing {
 public:
  /// Binds the replica's parameters, with the values of rank 0 of `all`. The arguments outlive this
  /// object.
  ///
  /// @throws InvalidArgument  the policy does not fit the module.
  /// @throws OutOfMemory      nothing is bound.
  static std::shared_ptr<RankUnits> bind(DeviceReplica& replica,
                                         comm::Communicator& all,
                                         const RankSharding& sharding);
  RankUnits(DeviceReplica& replica, comm::Communicator& all, const RankSharding& sharding);
  ~RankUnits() override;

  /// Whom the gradients are reduced with.
  BucketReducer::Groups groups() const noexcept {
    return {.replicas = sharding_.shard, .processes = sharding_.replicate};
  }
  /// Whatever reads a gradient, or updates, calls `complete` first.
  void set_completion(std::function<void()> complete) { complete_ = std::move(complete); }
  /// What an earlier forward or backward has left sleeps, but for gradients that have not been
  /// reduced.
  void begin_forward() const;
  /// If no backward can follow, all values sleep.
  void end_forward() const;
  /// The gradients that follow are those of a new backward.
  void begin_backward() const;
  /// That backward makes its first gradient. Those that parameters have by now are added to.
  void note_earlier_gradients();
  /// That backward has been reduced on all ranks: its gradients are added to earlier ones.
  void end_reduction() const { shares_->add_reduced(); }
  /// That backward has failed: gradients are those that parameters had before it.
  void discard_backward();
  /// The order in which this rank has used its units, for comparison with the other ranks.
  std::int64_t order_digest() const { return shares_->order().digest(); }
  /// The ranks have used their units in different orders.
  void forget_order() const { shares_->order().clear(); }
  /// Gathers all values, which stay until `close`. @throws OutOfMemory  nothing has changed.
  void open();
  enum class Changes : std::uint8_t { written_back, dropped };
  void close(Changes changes);

  Parts parts() const noexcept override { return Parts::ranks; }
  std::vector<optim::ArenaSlice> slices() const override;
  void share_gradients() override;
  void update(const std::function<std::exception_ptr(Device)>& part) override;
  void agree() const override;
  void all_reduce(const Tensor& value, OverRanks how) const override;

 private:
  class Keeper;

  DeviceReplica& replica_;
  comm::Communicator& all_;
  RankSharding sharding_;
  std::shared_ptr<RankShares> shares_;
  std::shared_ptr<SleepingBlocks> sleeping_;
  std::vector<Tensor> asleep_;  // while it is open: the storage of the values, by block
  std::vector<std::uint64_t> opened_versions_;
  std::vector<std::size_t> earlier_;  // the places that had gradients before the present backward
  std::function<void()> complete_;
};

}  // namespace tandem::parallel
