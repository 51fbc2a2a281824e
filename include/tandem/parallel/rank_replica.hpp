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
#include "tandem/parallel/no_sync.hpp"
#include "tandem/parallel/rank.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::parallel {

/// What each rank's gradient counts in the sum.
enum class Average : std::uint8_t {
  /// As its rows do in the batch of all ranks: the mean over all rows, also where ranks have
  /// different numbers of them.
  rows,
  /// 1 / ranks, as PyTorch's does: the mean over all rows only where all ranks have as many.
  world_size,
};

struct DistributedDataParallelOptions {
  int dim = 0;  ///< of the rows in inputs
  Average average = Average::rows;
  /// Parameters that a rank's loss does not depend on: an error that names them, or found in every
  /// backward, at the cost of a collective over a byte for each parameter.
  bool find_unused_parameters = false;
  /// Every iteration uses the parameters that the first one does: those that it leaves out need no
  /// find_unused_parameters, and a later one that differs is an error that names them.
  bool static_graph = false;
  bool broadcast_buffers = true;  ///< rank 0's, before each forward in training
  std::size_t first_bucket_nbytes = std::size_t{1} << 20;
  std::size_t bucket_nbytes = std::size_t{25} << 20;
};

/// What becomes of the mean when ranks have no more batches.
enum class Divide : std::uint8_t {
  by_initial_world_size,  ///< ranks that have joined count as gradients of zero
  by_present_world_size,  ///< ranks that have joined do not count
};

/// For Average::world_size; Average::rows is the mean over the rows that there are in any case.
struct JoinOptions {
  Divide divide = Divide::by_initial_world_size;
  /// An error on all ranks when the first one has no more batches.
  bool throw_on_early_termination = false;
};

/// A rank's copy of a module: its arena, buckets and hooks. DistributedDataParallel<M> adds the
/// types.
///
/// Of the rank's thread alone.
class RankReplica {
 public:
  /// Checks that all ranks have the same module, and gives them rank 0's parameters and buffers.
  ///
  /// @throws InvalidArgument  nothing trains, a part is wrapped already or on another device.
  /// @throws Desync           the ranks' modules differ: the text has the first difference.
  RankReplica(nn::Module& module,
              comm::Communicator& comm,
              const DistributedDataParallelOptions& options);
  ~RankReplica();
  RankReplica(const RankReplica&) = delete;
  RankReplica& operator=(const RankReplica&) = delete;

  /// Readies a forward of `rows` rows (none: it is not known), and the backward after it.
  ///
  /// @return the context that it runs in.
  std::shared_ptr<const Context> begin_forward(std::optional<std::int64_t> rows);
  /// An output of that forward, whose gradient is to count as this rank's rows do.
  Tensor weighted(const Tensor& output) const;
  /// The forward has ended.
  void end_forward() noexcept;
  /// Until `end_join`, other ranks may have no more forwards before this one has.
  void begin_join(const JoinOptions& options);
  /// This rank has no more: takes part in the others' exchanges until they have none either, then
  /// all ranks get the values of one that joined last.
  void end_join();
  /// A join whose loop has failed.
  void cancel_join() noexcept;
  /// @throws InvalidArgument  a backward is under way; there is a hook already.
  void register_comm_hook(CommHook hook);
  DdpLoggingData logging_data() const;
  void set_syncs(GradientSync sync) noexcept;
  GradientSync syncs() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::parallel
