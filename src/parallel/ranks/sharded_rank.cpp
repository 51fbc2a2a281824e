// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/detail/sharded_rank.hpp"

#include <utility>

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

/// What only shares can have. @param shards  whether there are some.
void check_shares(const FullyShardedDataParallelOptions& options, const Rank& rank, bool shards) {
  const MixedPrecisionPolicy& precision = options.precision;
  const bool casts = precision.param_dtype || precision.reduce_dtype || precision.output_dtype;
  TANDEM_CHECK(shards || (!options.sharding.offload && !casts),
               "FullyShardedDataParallel: ",
               casts ? "precision" : "offload",
               " is for shares of parameters, and this strategy on ",
               rank.size(),
               " ranks gives each rank all of them; leave it out, or take full_shard on several");
  TANDEM_CHECK(options.strategy != no_shard || !options.sharding.whole_tensors,
               "FullyShardedDataParallel: whole_tensors is for shares of parameters, and with "
               "no_shard each rank has all of them; leave it out, or take full_shard");
  TANDEM_CHECK(options.sharding.offload != rank.device(),
               "FullyShardedDataParallel: offload is ",
               rank.device(),
               ", which is the device of rank ",
               rank.rank(),
               "; give a device of no rank");
  for (const auto& [name, dtype] : {std::pair("param_dtype", precision.param_dtype),
                                    std::pair("reduce_dtype", precision.reduce_dtype),
                                    std::pair("output_dtype", precision.output_dtype)})
    TANDEM_CHECK(!dtype || is_float(*dtype),
                 "FullyShardedDataParallel: precision.",
                 name,
                 " is ",
                 *dtype,
                 "; give a float type, such as bf16");
}

/// None: each rank has everything.
std::optional<RankSharding> sharding_of(const Rank& rank,
                                        const FullyShardedDataParallelOptions& options) {
  RankSharding sharding{.shard = &rank.comm(),
                        .replicate = nullptr,
                        .options = options.sharding,
                        .precision = options.precision};
  if (options.strategy == shard_grad_op) sharding.options.reshard_after_forward = false;
  if (options.strategy == hybrid_shard) {
    check_mesh(options.mesh, rank);
    sharding.shard = &options.mesh->group("shard");
    sharding.replicate = &options.mesh->group("replicate");
  }
  const bool shards = options.strategy != no_shard && sharding.shard->size() > 1;
  check_shares(options, rank, shards);
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
  replica_ = std::make_shared<RankReplica>(
      module, rank.comm(), replicated, sharding_of(rank, options), options.init_on);
}

}  // namespace tandem::parallel
