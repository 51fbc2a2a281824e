// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/comm/device_mesh.hpp"
#include "tandem/parallel/distributed_data_parallel_options.hpp"
#include "tandem/parallel/mixed_precision.hpp"
#include "tandem/parallel/sharding.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// What ranks have a share of, by PyTorch's names.
enum class ShardingStrategy : std::uint8_t {
  full_shard,     ///< parameters, gradients and state: ZeRO-3
  shard_grad_op,  ///< the same, but parameters stay gathered from the forward to the backward
  hybrid_shard,   ///< full_shard along the mesh's axis "shard", copies along "replicate": HSDP
  no_shard,       ///< nothing, as DistributedDataParallel
};

/// `FullyShardedDataParallel fsdp(net, rank, {.sharding = {.units = blocks}})`
struct FullyShardedDataParallelOptions {
  /// Not reshard_after_forward: the strategy says it.
  Sharding sharding = {};
  ShardingStrategy strategy = ShardingStrategy::full_shard;
  /// For hybrid_shard, a mesh of the rank's group with axes "replicate" and "shard".
  std::optional<comm::DeviceMesh> mesh = std::nullopt;
  /// Where the rank's module is before it is wrapped. From there it moves to the rank's device, a
  /// unit at a time, so that this device never holds all of it. None: it is on the rank's device.
  std::optional<Device> init_on = std::nullopt;
  MixedPrecisionPolicy precision = {};
  int dim = 0;  ///< the dimension of the rows in inputs
  Average average = Average::rows;
  /// Broadcasts the buffers of rank 0 before each forward in training that records gradients.
  bool broadcast_buffers = true;
};

}  // namespace tandem::parallel
