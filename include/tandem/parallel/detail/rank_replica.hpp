// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/nn/module.hpp"
#include "tandem/parallel/comm_hook.hpp"
#include "tandem/parallel/ddp_logging.hpp"
#include "tandem/parallel/detail/no_sync.hpp"
#include "tandem/parallel/distributed_data_parallel_options.hpp"
#include "tandem/parallel/mixed_precision.hpp"
#include "tandem/parallel/rank.hpp"
#include "tandem/parallel/sharding.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::parallel {

struct ForwardRows;

/// How ranks share the parameters of their modules between them.
struct RankSharding {
  comm::Communicator* shard;  ///< the ranks that have the shares of one copy
  /// Those that have this rank's share of other copies; null: there is one copy.
  comm::Communicator* replicate;
  Sharding options = {};
  MixedPrecisionPolicy precision = {};
};

/// A rank's copy of a module: its arena, buckets and hooks. DistributedDataParallel<M> and
/// FullyShardedDataParallel<M> add the types.
///
/// To be used on the rank's thread only.
class RankReplica {
 public:
  /// Checks that all ranks have the same module, and gives them rank 0's parameters and buffers.
  ///
  /// @throws InvalidArgument  no parameter trains, or a part is already wrapped or on another
  ///                          device.
  /// @throws Desync           the ranks' modules differ; the text names the first difference.
  /// @param sharding  none: each rank has all parameters. Its groups outlive this object.
  /// @param init_on   where the module is, from where it moves to the rank's device; none: it is
  ///                  there.
  RankReplica(nn::Module& module,
              comm::Communicator& comm,
              const DistributedDataParallelOptions& options,
              const std::optional<RankSharding>& sharding = std::nullopt,
              std::optional<Device> init_on = std::nullopt);
  ~RankReplica();
  RankReplica(const RankReplica&) = delete;
  RankReplica& operator=(const RankReplica&) = delete;

  /// Prepares a forward of `rows` rows (none: unknown), and the backward after it.
  ///
  /// @return the context to run the forward in.
  std::shared_ptr<const Context> begin_forward(std::optional<std::int64_t> rows);
  /// What the module's forward gets of an input, in the policy's type. If it comes from another
  /// wrapper's outputs, the gradient that leaves through it is weighted there, and not twice.
  Tensor input(const Tensor& x) const;
  /// What the caller gets of an output of that forward, in the policy's type. Its gradient is
  /// scaled on its way back, so that it counts as much as this rank's rows.
  Tensor output(const Tensor& y) const;
  /// The forward has ended.
  void end_forward();
  /// Gathers all parameters on all ranks until `end_unsharded`. Collective.
  void begin_unsharded();
  /// @param write_back  whether each rank's changes to its share count; they are lost if not.
  void end_unsharded(bool write_back);
  /// Until `end_join`, other ranks may run out of batches before this one does.
  void begin_join(const JoinOptions& options);
  /// This rank has no more batches. Takes part in the others' exchanges until they have none
  /// either; then all ranks get the values of a rank that ended last.
  void end_join();
  /// Ends a join whose loop failed.
  void cancel_join() noexcept;
  /// @throws InvalidArgument  a backward is under way; there is a hook already.
  void register_comm_hook(CommHook hook);
  DdpLoggingData logging_data() const;
  void set_syncs(GradientSync sync) noexcept;
  GradientSync syncs() const noexcept;

 private:
  struct Parts;

  /// Sends the parameters and buffers of rank `root` to all ranks.
  void send(int root) const;
  /// What every rank, joined or not, does before a forward of the active ranks.
  ForwardRows prepare(std::int64_t rows);
  /// Takes part in the others' exchanges until they have joined too.
  void shadow();

  std::unique_ptr<Parts> parts_;
};

}  // namespace tandem::parallel
