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
#include "tandem/parallel/mixed_precision.hpp"
#include "tandem/parallel/rank.hpp"
#include "tandem/parallel/unit_policy.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::parallel {

struct ForwardRows;

/// How much each rank's gradient counts in the sum.
enum class Average : std::uint8_t {
  /// In proportion to its rows in the batch of all ranks. The result is the mean over all rows even
  /// if ranks have different numbers of rows.
  rows,
  /// 1 / ranks, as in PyTorch. The result is the mean over all rows only if all ranks have equally
  /// many.
  world_size,
};

struct DistributedDataParallelOptions {
  int dim = 0;  ///< the dimension of the rows in inputs
  Average average = Average::rows;
  /// What happens to parameters that a rank's loss does not depend on. False: an error that names
  /// them. True: they are looked for in every backward, which costs a collective over one byte per
  /// parameter.
  bool find_unused_parameters = false;
  /// Every iteration uses the same parameters as the first one. Parameters that the first one
  /// leaves out need no find_unused_parameters, and a later iteration that differs is an error that
  /// names them.
  bool static_graph = false;
  /// Broadcasts the buffers of rank 0 (in a join, of the first rank that still has batches) before
  /// each forward in training that records gradients.
  bool broadcast_buffers = true;
  std::size_t first_bucket_nbytes = std::size_t{1} << 20;
  std::size_t bucket_nbytes = std::size_t{25} << 20;
};

/// How the mean is taken when some ranks have no more batches.
enum class Divide : std::uint8_t {
  by_initial_world_size,  ///< ranks without batches count as zero gradients
  by_present_world_size,  ///< ranks without batches do not count
};

/// `divide` matters for Average::world_size; Average::rows always takes the mean over the rows
/// present.
struct JoinOptions {
  Divide divide = Divide::by_initial_world_size;
  /// Makes it an error on all ranks when the first rank has no more batches.
  bool throw_on_early_termination = false;
};

/// How ranks share the parameters of their modules between them.
struct RankSharding {
  comm::Communicator* shard;  ///< the ranks that have the shares of one copy
  /// Those that have this rank's share of other copies; null: there is one copy.
  comm::Communicator* replicate;
  UnitPolicy units = {};
  bool whole_tensors = false;  ///< no parameter is divided between ranks
  /// Whether a unit's parameters are given back as soon as another unit is used, and gathered anew
  /// for the backward. False: they stay until the end of the backward.
  bool reshard_after_forward = true;
  /// How many blocks of parameters are gathered ahead of use, in the order of the last pass.
  std::size_t prefetch = 1;
  /// Where this rank keeps its shares and updates them; none: on its device.
  std::optional<Device> offload = std::nullopt;
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
  /// @param sharding  null: each rank has all parameters. Its groups outlive this object.
  /// @param init_on   where the module is, from where it moves to the rank's device; none: it is
  ///                  there.
  RankReplica(nn::Module& module,
              comm::Communicator& comm,
              const DistributedDataParallelOptions& options,
              const RankSharding* sharding = nullptr,
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
