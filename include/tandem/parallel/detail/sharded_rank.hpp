// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tandem/comm/device_mesh.hpp"
#include "tandem/parallel/detail/rank_replica.hpp"
#include "tandem/parallel/unit_policy.hpp"

namespace tandem::parallel {

/// What ranks have a share of, by PyTorch's names.
enum class ShardingStrategy : std::uint8_t {
  full_shard,     ///< parameters, gradients and state: ZeRO-3
  shard_grad_op,  ///< the same, but parameters stay gathered from the forward to the backward
  hybrid_shard,   ///< full_shard along the mesh's axis "shard", copies along "replicate": HSDP
  no_shard,       ///< nothing, as DistributedDataParallel
};

struct FullyShardedDataParallelOptions {
  UnitPolicy units = {};  ///< what is gathered together
  /// Gives each whole parameter to one rank, instead of a part of each to all: for optimizers that
  /// need whole tensors (LAMB). The largest parameters of a unit come first, each to the rank that
  /// has least of the unit so far, and the other shares are padded to the largest one's size.
  bool whole_tensors = false;
  ShardingStrategy strategy = ShardingStrategy::full_shard;
  /// For hybrid_shard, a mesh of the rank's group with axes "replicate" and "shard".
  std::optional<comm::DeviceMesh> mesh = std::nullopt;
  /// How many units are gathered ahead of the one that is used, in the order of the last forward or
  /// backward. Each takes its memory meanwhile.
  std::size_t prefetch = 1;
  /// A device of none of the ranks, where this rank keeps its shares of parameters, gradients and
  /// state, and updates them: the host's memory (`cpu:9`) for a GPU. Between steps its own device
  /// has none of them. None: on the rank's device.
  std::optional<Device> offload = std::nullopt;
  /// Where the rank's module is before it is wrapped. From there it moves to the rank's device, a
  /// unit at a time, so that this device never holds all of it. None: it is on the rank's device.
  std::optional<Device> init_on = std::nullopt;
  MixedPrecisionPolicy precision = {};
  int dim = 0;  ///< the dimension of the rows in inputs
  Average average = Average::rows;
  /// Broadcasts the buffers of rank 0 before each forward in training that records gradients.
  bool broadcast_buffers = true;
};

/// A rank's module with its share of the parameters. FullyShardedDataParallel<M> adds the types.
///
/// To be used on the rank's thread only.
class ShardedRank {
 public:
  /// Checks that all ranks have the same module, and gives each its share of rank 0's parameters.
  ///
  /// @throws InvalidArgument  as RankReplica; the unit policy does not fit the module; or
  ///                          hybrid_shard has no mesh with its two axes over all ranks.
  /// @throws Desync           as RankReplica.
  ShardedRank(nn::Module& module, Rank& rank, const FullyShardedDataParallelOptions& options);

  RankReplica& replica() const noexcept { return *replica_; }
  const std::shared_ptr<RankReplica>& shared() const noexcept { return replica_; }

 private:
  std::optional<comm::DeviceMesh> mesh_;  // has the replica's groups
  std::shared_ptr<RankReplica> replica_;
};

}  // namespace tandem::parallel
