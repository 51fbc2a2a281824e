// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/detail/sharded_rank.hpp"

#include "tandem/core/check.hpp"

namespace tandem::parallel {
namespace {

using enum ShardingStrategy;

void check_mesh(const std::optional<comm::DeviceMesh>& mesh, const Rank& rank) {
  TANDEM_CHECK(
      mesh.has_value(),
      "FullyShardedDataParallel: hybrid_shard needs a mesh; give a comm::DeviceMesh of the "
      "rank's group with axes \"replicate\" and \"shard\"");
  TANDEM_CHECK(&mesh->comm() == &rank.comm(),
               "FullyShardedDataParallel: the mesh has ",
               mesh->comm().size(),
               " ranks of another group than the rank's, which has ",
               rank.size(),
               "; make the mesh of rank.comm()");
  TANDEM_CHECK(
      mesh->ndim() == 2 && mesh->has("replicate") && mesh->has("shard"),
      "FullyShardedDataParallel: hybrid_shard needs a mesh with the axes \"replicate\" and "
      "\"shard\"; this one has ",
      mesh->ndim(),
      " axes, of which the first is \"",
      mesh->axes().front().name,
      "\"");
}

void check_offload(const std::optional<Device>& home, const Rank& rank, bool shards) {
  TANDEM_CHECK(!home || shards,
               "FullyShardedDataParallel: offload to ",
               *home,
               " is for shares of parameters, and this strategy on ",
               rank.size(),
               " ranks gives each rank all of them; leave it out, or take full_shard on several");
  TANDEM_CHECK(home != rank.device(),
               "FullyShardedDataParallel: offload is ",
               rank.device(),
               ", which is the device of rank ",
               rank.rank(),
               "; give a device of no rank");
}

/// Null: each rank has everything.
std::optional<RankSharding> sharding_of(const Rank& rank,
                                        const FullyShardedDataParallelOptions& options) {
  RankSharding sharding{.shard = &rank.comm(),
                        .replicate = nullptr,
                        .units = options.units,
                        .reshard_after_forward = options.strategy != shard_grad_op,
                        .prefetch = options.prefetch,
                        .offload = options.offload};
  if (options.strategy == hybrid_shard) {
    check_mesh(options.mesh, rank);
    sharding.shard = &options.mesh->group("shard");
    sharding.replicate = &options.mesh->group("replicate");
  }
  const bool shards = options.strategy != no_shard && sharding.shard->size() > 1;
  check_offload(options.offload, rank, shards);
  return shards ? std::optional(sharding) : std::nullopt;
}

}  // namespace

ShardedRank::ShardedRank(nn::Module& module,
                         Rank& rank,
                         const FullyShardedDataParallelOptions& options)
    : mesh_(options.mesh) {
  const DistributedDataParallelOptions replicated{.dim = options.dim,
                                                  .average = options.average,
                                                  .find_unused_parameters = true,
                                                  .broadcast_buffers = options.broadcast_buffers};
  const std::optional<RankSharding> sharding = sharding_of(rank, options);
  replica_ = std::make_shared<RankReplica>(
      module, rank.comm(), replicated, sharding ? &*sharding : nullptr, options.init_on);
}

}  // namespace tandem::parallel
