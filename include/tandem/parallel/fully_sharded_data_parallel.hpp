// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <utility>

#include "tandem/comm/device_mesh.hpp"
#include "tandem/parallel/detail/rank_forward.hpp"
#include "tandem/parallel/detail/sharded_rank.hpp"

namespace tandem::parallel {

/// PyTorch's FullyShardedDataParallel for one rank of run_ranks: each rank has a share of the
/// parameters, the gradients and the optimizer's state. A unit's parameters are gathered when a
/// forward or a backward uses them, and given back when another unit is used.
///
///     const auto blocks = UnitPolicy::by_type<TransformerBlock>();
///     FullyShardedDataParallel fsdp(net, rank, {.sharding = {.units = blocks}});
///     optim::AdamW optimizer(net.named_parameters(), {.lr = 1e-3});
///     cross_entropy(fsdp(x), labels).backward();
///     optim::clip_grad_norm_(net.parameters(), 1.0);
///     optimizer.step();
///
/// The ranks have to use the units in the same order, which is compared: one that goes another way
/// is a Desync with both units' names. If a step fails, and the group is ended and reset on all
/// ranks, shares are as they were, and the gradients of that step are gone. Elsewhere the
/// parameters and gradients cannot be read; see `unsharded`. Optimizers, clip_grad_norm_ and
/// GradScaler work on the shares, and are collective; LAMB needs `whole_tensors`. Parameters that
/// no rank's loss depends on get no gradient, and those that some do, one of all ranks.
///
/// Gradients are the mean over the rows of all ranks, as in DistributedDataParallel, which see for
/// dropout, batch norm and ranks with different numbers of rows. When the wrapper has
/// ended, the module's parameters cannot be used any more.
///
/// Not thread-safe: use it only on the rank's thread. The module and the rank must outlive it.
template <std::derived_from<nn::Module> M>
class FullyShardedDataParallel {
 public:
  using Options = FullyShardedDataParallelOptions;

  /// @throws InvalidArgument, Desync  see ShardedRank.
  /// @cost  a broadcast of parameters and buffers, a unit at a time.
  FullyShardedDataParallel(M& module, Rank& rank, const Options& options = {})
      : module_(module),
        dim_(options.dim),
        sharded_(std::make_shared<ShardedRank>(module, rank, options)) {}

  /// The module's forward of this rank's arguments. Collective.
  ///
  /// @throws InvalidArgument       the forward wrote to a parameter, or the module is not as it was
  ///                               wrapped, but for what is frozen; the text names the parameter.
  /// @throws Desync                another rank used another unit.
  /// @throws CommAborted, Timeout  another rank failed.
  template <class... Args>
  auto operator()(Args&&... arguments) {
    return detail::rank_forward(
        sharded_->replica(), module_, dim_, std::forward<Args>(arguments)...);
  }

  /// Until the end of its scope, backwards add up gradients on this rank only, which holds them
  /// whole; the next backward after it reduces all of them. Every rank does the same.
  [[nodiscard]] NoSync<RankReplica> no_sync() { return NoSync<RankReplica>(sharded_->shared()); }

  M& module() noexcept { return module_; }
  M* operator->() noexcept { return &module_; }
  ShardedRank& sharded() noexcept { return *sharded_; }

 private:
  M& module_;
  int dim_;
  std::shared_ptr<ShardedRank> sharded_;
};

struct UnshardedOptions {
  /// Whether changes to parameters stay: every rank makes the same ones, and keeps its share.
  bool write_back = true;
};

/// Runs `f` with all parameters of the module, as on one device: to read, print, copy or change
/// them. Every rank calls it; inside, ranks may do different things.
///
/// @cost  an all_gather of the parameters, and the memory for all of them on each rank.
template <std::derived_from<nn::Module> M, std::invocable F>
void unsharded(FullyShardedDataParallel<M>& fsdp, F&& f, const UnshardedOptions& options = {}) {
  RankReplica& replica = fsdp.sharded().replica();
  replica.begin_unsharded();
  try {
    std::forward<F>(f)();
  } catch (...) {
    replica.end_unsharded(false);
    throw;
  }
  replica.end_unsharded(options.write_back);
}

}  // namespace tandem::parallel
