// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include "tandem/parallel/detail/rank_forward.hpp"
#include "tandem/parallel/detail/rank_replica.hpp"

namespace tandem::parallel {

/// PyTorch's DistributedDataParallel for one rank of run_ranks. Each rank has its own module,
/// batches and optimizer; gradients are averaged over the ranks while backward runs.
///
///     DistributedDataParallel ddp(net, rank);
///     optim::SGD optimizer(net.parameters(), {.lr = 0.1});
///     cross_entropy(ddp(x), labels).backward();
///     optimizer.step();
///
/// Backward starts the reduction. The first read of a gradient (by the optimizer, by clipping, by
/// p.grad()) waits for it, or at the latest the next forward does. If no gradients are recorded
/// (NoGrad), nothing is exchanged. Dropout and synchronised batch norm treat the ranks' rows as one
/// batch, in the order of the ranks.
///
/// If ranks have different numbers of rows, the gradients of outputs are scaled by rows * ranks /
/// all rows on their way back, and the reduction divides all gradients by the number of ranks. A
/// loss term that does not depend on the outputs (a penalty on the weights) then counts once.
///
/// Not thread-safe: use it only on the rank's thread. The module and the rank must outlive it.
template <std::derived_from<nn::Module> M>
class DistributedDataParallel {
 public:
  using Options = DistributedDataParallelOptions;

  /// @throws InvalidArgument, Desync  see RankReplica.
  /// @cost  a broadcast of parameters and buffers.
  DistributedDataParallel(M& module, Rank& rank, const Options& options = {})
      : module_(module),
        dim_(options.dim),
        replica_(std::make_shared<RankReplica>(module, rank.comm(), options)) {}

  /// The module's forward of this rank's arguments.
  ///
  /// @throws InvalidArgument       the backward before this call did not reach some parameters,
  ///                               which are named; see find_unused_parameters.
  /// @throws CommAborted, Timeout  another rank failed.
  template <class... Args>
  auto operator()(Args&&... arguments) {
    return detail::rank_forward(*replica_, module_, dim_, std::forward<Args>(arguments)...);
  }

  /// Runs `loop`, in which ranks may call the wrapper different numbers of times, for example
  /// because they have different numbers of samples. A rank whose loop has ended takes part in the
  /// others' exchanges with zero gradients until all loops have ended. Then all ranks get the
  /// parameters and buffers of one of the ranks that ended last; from then on the optimizers'
  /// states may differ.
  ///
  /// Every rank calls it. Synchronised batch norm and dropout see only the ranks that have rows.
  template <std::invocable F>
  void join(F&& loop, const JoinOptions& options = {}) {
    replica_->begin_join(options);
    try {
      std::forward<F>(loop)();
    } catch (...) {
      replica_->cancel_join();
      throw;
    }
    replica_->end_join();
  }

  /// Sets what is done with each bucket instead of taking the mean over the ranks. Every rank
  /// registers the same hook. To be called once, and not while a backward is under way.
  void register_comm_hook(CommHook hook) { replica_->register_comm_hook(std::move(hook)); }

  /// Times, bucket sizes, and the order of gradients.
  DdpLoggingData logging_data() const { return replica_->logging_data(); }

  /// Until the end of its scope, backwards add up gradients on this rank only; the next backward
  /// after it reduces all of them. Every rank does the same.
  [[nodiscard]] NoSync<RankReplica> no_sync() { return NoSync<RankReplica>(replica_); }

  M& module() noexcept { return module_; }
  M* operator->() noexcept { return &module_; }

 private:
  M& module_;
  int dim_;
  std::shared_ptr<RankReplica> replica_;
};

}  // namespace tandem::parallel
