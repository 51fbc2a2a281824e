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
#include "tandem/optim/grad_scaler.hpp"
#include "tandem/optim/optimizer.hpp"
#include "tandem/parallel/no_sync.hpp"
#include "tandem/parallel/options.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/parallel/straggler.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::parallel {

/// What a step does besides; by name: `{.scaler = &scaler}`.
struct StepOptions {
  /// Scales the loss in the replicas and the reduced gradients back, skips the update on all
  /// devices where a gradient overflowed, and adapts its scale: all that a step with a scaler
  /// takes. Null: none.
  optim::GradScaler* scaler = nullptr;
};

/// The loss of a step.
struct StepResult {
  double loss = 0;    ///< sum over all replicas / weight
  double weight = 0;  ///< what the loss was divided by: rows, or the labels that count
  std::vector<std::int64_t> rows = {};  ///< by device
  /// Gradients overflowed under the scaler, or NonFinite::skip has found something: the step has
  /// had no effect, as if it had failed.
  bool skipped = false;
  std::optional<NonFiniteValue> non_finite = {};  ///< the first one found, by order of parameters
  std::optional<Straggler> straggler = {};        ///< see DataParallelOptions::straggler_ratio
};

class ModeRules;
class TrainStep;

/// A batch, for plans.
struct BatchSize {
  std::int64_t rows = 0;
  std::vector<std::size_t> nbytes;  ///< by device: of its tensors that are split, where they lie
};

namespace detail {

/// A device takes part in a call: it has rows, or is the first one of an empty batch.
inline bool has_part(const std::vector<RowRange>& rows, std::size_t device) {
  return rows[device].end > rows[device].begin || (device == 0 && rows.back().end == 0);
}

}  // namespace detail

/// The replicas of a module: its arenas, groups and the threads' work. DataParallel<M> adds the
/// types.
///
/// Each call is a transaction: it ends well, or throws ReplicaError and has changed nothing. After
/// a call that passed its deadline the set is poisoned, and says so. Used by one thread at a time.
class ReplicaSet {
 public:
  /// Work of one replica, on its device's thread, in its context.
  using Body = std::function<void(const Replica&)>;
  using LossBody = std::function<WeightedSum(const Replica&)>;

  /// @param modules  the user's module on devices[0], then a replica on each other device.
  /// @throws InvalidArgument  a tensor is on another device than devices[0]; it is named.
  ReplicaSet(const std::vector<nn::Module*>& modules,
             std::vector<Device> devices,
             const DataParallelOptions& options);
  /// @param rules  in place of options.mode. They outlive this object.
  ReplicaSet(const std::vector<nn::Module*>& modules,
             std::vector<Device> devices,
             const DataParallelOptions& options,
             const ModeRules& rules);
  ~ReplicaSet();
  ReplicaSet(const ReplicaSet&) = delete;
  ReplicaSet& operator=(const ReplicaSet&) = delete;

  const std::vector<Device>& devices() const noexcept;
  /// Rows of each device for a batch, which may be empty. @throws InvalidArgument  by the chunk
  /// policy.
  std::vector<RowRange> plan(std::int64_t rows) const;
  const ChunkPolicy& policy() const noexcept;

  /// Runs `body` on every device that has rows, with this moment's parameters. Buffers that the
  /// replicas write are merged into the module at the end.
  void forward(const std::vector<RowRange>& rows, const Body& body);
  /// Runs `body`, which goes backward through an earlier forward's tapes, and reduces the gradients
  /// into the module's.
  void backward(const std::vector<RowRange>& rows, const Body& body);
  /// Runs `body` on every device that has rows; nothing is sent or reduced.
  void on_replicas(const std::vector<RowRange>& rows, const Body& body);
  /// Forward with the loss in the replica, backward, and, where there is an optimizer, the update.
  /// Not of an empty batch, whose loss would be 0 / 0. Measures and plans first, and again where a
  /// device is full, as the options say.
  /// @param optimizer  null: the gradients are added to the module's.
  StepResult step(const BatchSize& batch,
                  const LossBody& body,
                  optim::Optimizer* optimizer,
                  const StepOptions& options = {});
  /// What steps of any size need, from a few steps without effect on the first rows of a batch, and
  /// on all of it as it would be planned.
  ///
  /// The devices' peaks start anew. With an optimizer gradients are dropped, and what it keeps is
  /// made, as in its next step.
  /// @throws InvalidArgument  the batch has fewer than two rows for each device.
  /// @throws ReplicaError     a step failed; it was out of memory down to two rows a device.
  StepModel measure(const BatchSize& batch, const LossBody& body, optim::Optimizer* optimizer);
  /// What a step of this batch needs, as the policy would cut it, from one without effect.
  ///
  /// @return none where a device is out of memory. @throws as measure.
  std::optional<StepProbe> try_batch(const BatchSize& batch,
                                     const LossBody& body,
                                     optim::Optimizer* optimizer);
  void set_syncs(GradientSync sync);
  GradientSync syncs() const noexcept;
  /// Reduces gradients that have not been, and brings parameters and buffers to all replicas.
  void sync();
  /// Ends a call that another thread has running, as a failure without effect, and waits for its
  /// end, at most two seconds. For whoever destroys the wrapper.
  void cancel() noexcept;
  /// Runs `body` on the thread of one device (gathering); no group, no transaction.
  void on_device(Device device, Phase phase, const std::function<void()>& body);

  /// The module's, as they were when it was wrapped; to be asked for while a call runs, too.
  std::vector<Tensor> parameters() const;
  /// By device, those of the replicas that train.
  std::vector<std::vector<Tensor>> replica_parameters() const;
  /// How often parameters have been frozen or unfrozen: the tapes of a call are for one generation.
  std::uint64_t generation() const noexcept;
  /// Some parameter has a hook (register_hook, set_accumulate_hook), which is to see the sum.
  bool has_parameter_hooks() const;
  /// Bytes of parameters on each device.
  std::size_t parameter_nbytes() const noexcept;

 private:
  struct Parts;
  struct StepRequest;

  /// Makes a step of planned rows: its call, and the way to its gradients.
  std::shared_ptr<TrainStep> make_step(const std::vector<RowRange>& planned,
                                       const StepRequest& request);
  /// @param taken  null, or set to the step, for what it has measured.
  StepResult take_step(const std::vector<RowRange>& rows,
                       const StepRequest& request,
                       std::shared_ptr<TrainStep>* taken);
  /// Takes steps without effect, for plans.
  std::function<StepProbe(const std::vector<std::int64_t>& rows)> rehearsal(
      const LossBody& body, optim::Optimizer* optimizer);

  std::shared_ptr<Parts> parts_;
};

/// A wrapper's hold on its replicas: moved from it has none, and where it ends, it ends a call that
/// another thread has running.
class ReplicaSetOwner {
 public:
  explicit ReplicaSetOwner(std::shared_ptr<ReplicaSet> set) noexcept : set_(std::move(set)) {}
  ReplicaSetOwner(ReplicaSetOwner&&) noexcept = default;
  ReplicaSetOwner& operator=(ReplicaSetOwner&&) = delete;
  ~ReplicaSetOwner() {
    if (set_ != nullptr) set_->cancel();
  }

  /// To be kept by a call until its end. @throws InvalidArgument  it was moved from.
  const std::shared_ptr<ReplicaSet>& get() const;

 private:
  std::shared_ptr<ReplicaSet> set_;
};

}  // namespace tandem::parallel
