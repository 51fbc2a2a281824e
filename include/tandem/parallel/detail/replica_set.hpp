// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/nn/module.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/optimizer.hpp"
#include "tandem/parallel/detail/batch_size.hpp"
#include "tandem/parallel/detail/is_active.hpp"
#include "tandem/parallel/detail/no_sync.hpp"
#include "tandem/parallel/options.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/parallel/step.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::parallel {

struct Engine;
struct ModeRules;
class ModuleParameters;
class ReplicaSource;

/// The replicas of a module: its arenas, its groups and the threads' work. DataParallel<M> adds the
/// types.
///
/// Each call is a transaction: it succeeds, or it throws ReplicaError and has changed nothing.
/// After a call that passed its deadline, the set refuses all calls and says so. To be used by one
/// thread at a time.
class ReplicaSet {
 public:
  /// The work of one replica, on its device's thread and in its context.
  using Body = std::function<void(const Replica&)>;
  using LossBody = std::function<WeightedSum(const Replica&)>;
  /// What a step, a measurement of steps, or a trial of a batch works on.
  struct StepWork {
    BatchSize batch;
    LossBody body;
    optim::Optimizer* optimizer;  ///< null: the gradients are added to the module's
  };

  /// @param modules  the user's module on devices[0], then a replica on each other device.
  /// @throws InvalidArgument  a tensor is not on devices[0]; it is named.
  ReplicaSet(const std::vector<nn::Module*>& modules,
             std::vector<Device> devices,
             const DataParallelOptions& options);
  /// @param rules  used instead of options.mode. They outlive this object.
  ReplicaSet(const std::vector<nn::Module*>& modules,
             std::vector<Device> devices,
             const DataParallelOptions& options,
             const ModeRules& rules);
  /// Another library's modules. @param replicas  in the same order; see ReplicaSource.
  ReplicaSet(const std::vector<std::shared_ptr<ReplicaSource>>& replicas,
             std::vector<Device> devices,
             const DataParallelOptions& options,
             const ModeRules& rules);
  ~ReplicaSet();
  ReplicaSet(const ReplicaSet&) = delete;
  ReplicaSet& operator=(const ReplicaSet&) = delete;

  const std::vector<Device>& devices() const noexcept;
  /// Each device's rows of a batch, which may be empty.
  /// @throws InvalidArgument  see ChunkPolicy::plan.
  std::vector<RowRange> plan(std::int64_t rows) const;
  const ChunkPolicy& policy() const noexcept;

  /// Runs `body` on every device that has rows, with the current parameters, then `gather` on the
  /// caller's thread. Buffers that the replicas write are merged into the module at the end: where
  /// any of it fails, nothing has changed.
  void forward(const std::vector<RowRange>& rows,
               const Body& body,
               const std::function<void()>& gather = nullptr);
  /// Runs `body`, which goes backward through the tapes of an earlier forward, and reduces the
  /// gradients into the module's.
  ///
  /// @param prepare  is run before: no device begins `body` until all have ended this. What one
  ///                 device copies from another is so not queued behind the other's backward.
  void backward(const std::vector<RowRange>& rows, const Body& body, const Body& prepare = {});
  /// Runs `body` on every device that has rows. Nothing is sent or reduced.
  void on_replicas(const std::vector<RowRange>& rows, const Body& body);
  /// Runs forward with the loss in the replica, backward and, if there is an optimizer, the update.
  /// An empty batch is an error, because its loss would be 0 / 0. Before the step, measures and
  /// plans if the policy asks for it; if a device is out of memory, replans if the options say so.
  StepResult step(const StepWork& work, const StepOptions& options = {});
  /// Measures what steps of any size need, by a few steps without effect on the first rows of a
  /// batch, and on all of it, divided as it would be planned.
  ///
  /// Resets the devices' peaks. With an optimizer, gradients are dropped and its state is created,
  /// as in its next step.
  /// @throws InvalidArgument  the batch has fewer than two rows per device.
  /// @throws ReplicaError     a step failed, or was out of memory even with two rows per device.
  StepModel measure(const StepWork& work);
  /// Measures what a step of this batch needs, divided as the policy says, by steps without effect.
  ///
  /// @return none if a device is out of memory.
  /// @throws InvalidArgument  see ChunkPolicy::plan. ReplicaError: the step failed for another
  ///                          reason.
  std::optional<StepProbe> try_batch(const StepWork& work);
  void set_syncs(GradientSync sync);
  GradientSync syncs() const noexcept;
  /// Reduces gradients that have not been reduced, and brings parameters and buffers to all
  /// replicas.
  void sync();
  /// Makes a call that another thread is running fail without effect, and waits at most two seconds
  /// for it to end. Called when the wrapper is destroyed.
  void cancel() noexcept;

  /// The module's parameters and their copies. The reference is valid while this object lives.
  const ModuleParameters& parameters() const noexcept;
  /// Bytes of parameters on each device.
  std::size_t parameter_nbytes() const noexcept;

 private:
  std::shared_ptr<Engine> engine_;
};

/// A wrapper's hold on its replicas. It is empty after a move. Its destructor ends a call that
/// another thread is running.
class ReplicaSetOwner {
 public:
  explicit ReplicaSetOwner(std::shared_ptr<ReplicaSet> set) noexcept : set_(std::move(set)) {}
  ReplicaSetOwner(ReplicaSetOwner&&) noexcept = default;
  ReplicaSetOwner& operator=(ReplicaSetOwner&&) = delete;
  ~ReplicaSetOwner() {
    if (set_ != nullptr) set_->cancel();
  }

  /// A call keeps it until its end. @throws InvalidArgument  it was moved from.
  const std::shared_ptr<ReplicaSet>& get() const;

 private:
  std::shared_ptr<ReplicaSet> set_;
};

}  // namespace tandem::parallel
