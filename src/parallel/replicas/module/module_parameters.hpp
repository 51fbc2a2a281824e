// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tandem/parallel/exchange.hpp"
#include "tandem/parallel/sharding.hpp"

#include "parallel/replicas/call/call.hpp"
#include "parallel/units/block_shares.hpp"
#include "parallel/update/mode_rules.hpp"

namespace tandem::parallel {

/// The replicas of a wrapper, by device.
using Replicas = std::vector<std::unique_ptr<DeviceReplica>>;

/// Puts tensors of a replica into it, wherever the original module has tensors of `arena`.
void place_tensors(ReplicaSource& original,
                   const optim::Arena& arena,
                   ReplicaSource& copy,
                   const std::vector<Tensor>& tensors);

/// The module's parameters: their storage on all devices, and which device has which values.
///
/// Device 0's parameters are the module's. When they have changed, they are sent to the others.
class ModuleParameters {
 public:
  struct Options {
    Exchange exchange = {};
    Sharding sharding = {};
  };
  ModuleParameters(const Replicas& replicas, const ModeRules& rules, Options options);

  /// Allocates the storage on all devices, which begins a generation. The replicas' modules get new
  /// tensors.
  void bind();
  /// Releases the storage, so that bind() can be called again.
  void release();
  /// Device 0's arena.
  const std::shared_ptr<optim::Arena>& arena() const noexcept { return first().parameters(); }
  /// The arenas, by device.
  std::vector<std::shared_ptr<optim::Arena>> arenas() const;
  /// The module's parameters as they were when it was wrapped. May be called while a call runs.
  std::vector<Tensor> tensors() const;
  /// What each device has of each block, of the gradients or of the values too; null: all have
  /// whole blocks.
  const std::shared_ptr<BlockShares>& shares() const noexcept { return shares_; }
  /// By device; empty: no blocks sleep.
  const std::vector<std::shared_ptr<SleepingBlocks>>& sleeping() const noexcept {
    return sleeping_;
  }
  /// Gives the module its parameters and gradients as whole tensors, if there is room for them.
  void give_back() noexcept;
  /// By device: the replicas' parameters that train.
  std::vector<std::vector<Tensor>> training() const;
  /// Whether any parameter has a hook (register_hook, set_accumulate_hook), which must see the sum.
  bool have_hooks() const;
  /// How often bind() has laid out the storage: it does so again after some parameters were frozen
  /// or unfrozen. The tapes of a call belong to one generation.
  std::uint64_t generation() const noexcept { return generation_; }
  /// The buckets of the gradients.
  const std::shared_ptr<const std::vector<Bucket>>& gradient_buckets() const noexcept {
    return gradient_buckets_;
  }

  /// Notes in the call which values device 0 has, and whether a device of its group lacks them.
  void begin(Call& call) const;
  /// Sends the values to devices that lack them. Called on a part's thread. The values may still be
  /// under way when it returns; work that uses them waits.
  void send(Call& call, Call::Part& part) const;
  /// Waits for values that no work has used.
  void end_send(Call& call, Call::Part& part) const;
  /// Notes that the devices of the call's group have the values that device 0 had when the call
  /// began.
  void note_sent(const Call& call) const;
  /// Notes that every replica has device 0's current values: all devices were updated, or none.
  void note_equal(const Call& call) const;

 private:
  class Keeper;
  bool values_sleep() const noexcept { return shares_ != nullptr && rules_.gathers_values(); }
  std::shared_ptr<optim::Arena> bind_original();
  void bind_replica(DeviceReplica& replica, const std::shared_ptr<optim::Arena>& original);
  DeviceReplica& first() const noexcept { return *replicas_.front(); }

  const Replicas& replicas_;
  const ModeRules& rules_;
  Options options_;
  std::shared_ptr<const std::vector<Bucket>> gradient_buckets_ =
      std::make_shared<const std::vector<Bucket>>();
  std::vector<Bucket> broadcast_buckets_;
  std::shared_ptr<BlockShares> shares_;
  std::vector<std::shared_ptr<SleepingBlocks>> sleeping_;  // by device
  std::shared_ptr<Keeper> keeper_;                         // null: no blocks sleep
  std::uint64_t generation_ = 0;
};

}  // namespace tandem::parallel
