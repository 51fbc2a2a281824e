// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include "tandem/parallel/nest_rows.hpp"
#include "tandem/parallel/rank_replica.hpp"
#include "tandem/tensor/nest.hpp"

namespace tandem::parallel {

/// PyTorch's DistributedDataParallel for one rank of run_ranks: each rank has the module, its own
/// batches and its own optimizer; gradients are averaged over the ranks while backward runs.
///
///     DistributedDataParallel ddp(net, rank);
///     optim::SGD optimizer(net.parameters(), {.lr = 0.1});
///     cross_entropy(ddp(x), labels).backward();
///     optimizer.step();
///
/// A reduction that backward has begun is waited for by whoever reads a gradient first (the
/// optimizer, clipping, p.grad()), at the latest by the next forward. Without gradients (NoGrad)
/// nothing is exchanged. Dropout and synchronised batch norm see the ranks' rows as
/// one batch, in the order of the ranks.
///
/// Where ranks have unequal rows, gradients of outputs are scaled by rows * ranks / all rows on
/// their way back, and all are divided by the ranks when they are reduced; what a loss adds beside
/// the outputs (a penalty on the weights) then counts once.
///
/// Not thread-safe; of the rank's thread. The module and the rank outlive it.
template <std::derived_from<nn::Module> M>
class DistributedDataParallel {
 public:
  using Options = DistributedDataParallelOptions;

  /// @throws InvalidArgument, Desync  see RankReplica. @cost  a broadcast of parameters and
  /// buffers.
  DistributedDataParallel(M& module, Rank& rank, const Options& options = {})
      : module_(module),
        dim_(options.dim),
        replica_(std::make_shared<RankReplica>(module, rank.comm(), options)) {}

  /// The module's forward of this rank's arguments.
  ///
  /// @throws InvalidArgument  of the backward before: parameters that it did not reach (named), see
  ///                          find_unused_parameters. CommAborted, Timeout  another rank failed.
  template <class... Args>
  auto operator()(Args&&... arguments) {
    const ContextScope scope(replica_->begin_forward(find_rows(dim_, arguments...)));
    auto outputs = module_(std::forward<Args>(arguments)...);
    for_each_leaf(outputs, [this](Tensor& y) { y = replica_->weighted(y); });
    replica_->end_forward();
    return outputs;
  }

  /// Runs `loop`, in which ranks may call the wrapper different numbers of times, as where their
  /// samples are uneven: a rank whose loop has ended takes part in the exchanges of the others,
  /// with gradients of zero, until all have ended. Then all ranks get the parameters and buffers of
  /// one of those that ended last; the optimizers' states may differ from then on.
  ///
  /// Every rank calls it. Synchronised batch norm and dropout see the ranks that have rows.
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

  /// What is done with each bucket in place of the mean over the ranks; every rank has the same.
  /// Once, and not while a backward is under way.
  void register_comm_hook(CommHook hook) { replica_->register_comm_hook(std::move(hook)); }

  /// Times, sizes of buckets, the order of gradients.
  DdpLoggingData logging_data() const { return replica_->logging_data(); }

  /// Until the end of its scope, backwards add up gradients on this rank; the next one after it
  /// reduces all. Every rank does the same.
  [[nodiscard]] NoSync<RankReplica> no_sync() { return NoSync<RankReplica>(replica_); }

  M& module() noexcept { return module_; }
  M* operator->() noexcept { return &module_; }

 private:
  M& module_;
  int dim_;
  std::shared_ptr<RankReplica> replica_;
};

}  // namespace tandem::parallel
