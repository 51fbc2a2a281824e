// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/optim/arena_sharing.hpp"
#include "tandem/parallel/detail/rank_replica.hpp"

#include "parallel/ranks/rank_parameters.hpp"
#include "parallel/ranks/rank_shares.hpp"
#include "parallel/ranks/unchanged_module.hpp"
#include "parallel/replicas/device/device_replica.hpp"
#include "parallel/units/sleeping_blocks.hpp"

namespace tandem::parallel {

/// Parameters as units, of which each rank has a share: FSDP.
class RankUnits final : public RankParameters, public optim::ArenaSharing {
 public:
  static constexpr const char* kWrapper = "FullyShardedDataParallel";

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

  const char* wrapper() const noexcept override { return kWrapper; }
  MixedPrecisionPolicy precision() const override { return sharding_.precision; }
  void check_unchanged() const override { unchanged_->check(); }
  /// The shares are all that there is of the values.
  void send(int) const override {}
  void open() override;
  void close(Changes changes) override;

  /// What an earlier forward or backward has left sleeps, but for gradients that have not been
  /// reduced.
  void begin_forward(Context& c) const override;
  /// If no backward can follow, all values sleep.
  void end_forward() const override;
  std::int64_t order_digest() const override { return shares_->order().digest(); }
  void forget_order() const override { shares_->order().clear(); }

  BucketReducer::Groups groups() const noexcept override {
    return {.replicas = sharding_.shard, .processes = sharding_.replicate};
  }
  void set_completion(std::function<void()> complete) override { complete_ = std::move(complete); }
  bool gives_up_failed_backwards() const noexcept override { return true; }
  void begin_backward() const override;
  void note_earlier_gradients() override;
  void end_reduction() const override { shares_->add_reduced(); }
  void discard_backward() override;

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
  const std::shared_ptr<RankShares> shares_;
  std::shared_ptr<SleepingBlocks> sleeping_;
  std::optional<UnchangedModule> unchanged_;  // none until it is bound
  std::vector<Tensor> asleep_;  // while it is open: the storage of the values, by block
  std::vector<std::uint64_t> opened_versions_;
  std::vector<std::size_t> earlier_;  // the places that had gradients before the present backward
  std::function<void()> complete_;
};

}  // namespace tandem::parallel
