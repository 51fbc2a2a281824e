// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "tandem/comm/device_mesh.hpp"
#include "tandem/parallel/detail/rank_replica.hpp"
#include "tandem/parallel/fully_sharded_data_parallel_options.hpp"

namespace tandem::parallel {

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
