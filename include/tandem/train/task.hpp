// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/data/data_loader.hpp"
#include "tandem/nn/module.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/optimizer.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::training {

/// The sums over batches from which a measure is made.
struct Score {
  std::int64_t correct = 0;
  std::int64_t answers = 0;
  double loss = 0;  ///< sum of the losses
  double weight = 0;
};

/// A model on its devices and what it is trained to do. A training loop drives it.
class Task {
 public:
  virtual ~Task() = default;
  virtual nn::Module& module() = 0;
  virtual const std::vector<Device>& devices() const = 0;
  /// The rows that each device gets of a batch of `rows` rows.
  virtual std::vector<RowRange> plan(std::int64_t rows) const = 0;
  /// The model by which chunks are planned; null if they are not planned, or no step has been made.
  virtual const parallel::StepModel* step_model() const { return nullptr; }
  /// The largest batch that fits the devices' limits. See DataParallel::find_largest_batch. If the
  /// loss is not in the replica, the batches that are tried are trained on, too.
  ///
  /// @param make  makes a batch of the given number of rows
  virtual parallel::LargestBatch find_largest_batch(
      const std::function<datasets::Batch(std::int64_t)>& make, optim::Optimizer& optimizer) = 0;
  /// Makes one update. See DataParallel::step.
  virtual parallel::StepResult step(const datasets::Batch& batch, optim::Optimizer& optimizer) = 0;
  /// How well the module answers a batch. Call it with the module in evaluation mode, off the tape.
  virtual Score score(const datasets::Batch& batch) = 0;

 protected:
  /// find_largest_batch by steps that this task takes.
  parallel::LargestBatch search_by_steps(const std::function<datasets::Batch(std::int64_t)>& make,
                                         optim::Optimizer& optimizer);
};

/// Scores logits (N, C) for labels (N), which may be on another device.
Score score_logits(const Tensor& logits, const Tensor& labels);

/// Where the loss of a step is calculated.
enum class LossPlace : std::uint8_t {
  replica,        ///< on each device, from its own rows; outputs stay where they are
  output_device,  ///< on the output device, from the gathered outputs, as in PyTorch's DataParallel
  /// On each device, and outputs are gathered all the same, before backward and without gradients:
  /// as in PyTorch's DataParallel with a module that returns its loss and its outputs. The output
  /// device holds all of them until the step ends, and each device its own.
  replica_and_outputs,
};

/// A task of one module under DataParallel, with batches of {inputs, labels}.
template <std::derived_from<nn::Module> M>
class ModuleTask : public Task {
 public:
  /// @throws InvalidArgument  as DataParallel, or if another place than LossPlace::replica is
  ///                          combined with accumulate or a world.
  ModuleTask(M module,
             const parallel::DataParallelOptions& options,
             LossPlace place = LossPlace::replica)
      : module_(std::move(module)),
        parallel_(module_, options),
        output_device_(options.output_device.value_or(parallel_.devices().front())),
        place_(place) {
    TANDEM_CHECK(place == LossPlace::replica || options.accumulate == 1,
                 "task: accumulate is ",
                 options.accumulate,
                 ", which needs the loss in the replica, without gathered outputs");
    TANDEM_CHECK(place == LossPlace::replica || options.world == nullptr,
                 "task: outputs are gathered on the device of one process, and several train "
                 "together; compute the loss in the replica, and gather no outputs");
  }
  ModuleTask(const ModuleTask&) = delete;
  ModuleTask& operator=(const ModuleTask&) = delete;

  nn::Module& module() final { return module_; }
  const std::vector<Device>& devices() const final { return parallel_.devices(); }
  std::vector<RowRange> plan(std::int64_t rows) const final { return parallel_.plan(rows); }
  const parallel::StepModel* step_model() const final { return parallel_.policy().model(); }
  parallel::StepResult step(const datasets::Batch& batch, optim::Optimizer& optimizer) final {
    if (place_ == LossPlace::replica) return parallel_.step(batch, loss_of_part(), &optimizer);
    optimizer.zero_grad();
    return place_ == LossPlace::output_device ? gathered_step(batch, optimizer)
                                              : spread_step(batch, optimizer);
  }
  /// @throws InvalidArgument  as DataParallel, or with planned chunks and another place than
  ///                          LossPlace::replica.
  parallel::LargestBatch find_largest_batch(
      const std::function<datasets::Batch(std::int64_t)>& make, optim::Optimizer& optimizer) final {
    if (place_ == LossPlace::replica)
      return parallel_.find_largest_batch(make, loss_of_part(), &optimizer);
    TANDEM_CHECK(!parallel_.policy().wants_model(),
                 "task: the largest batch by planned chunks can only be found with the loss in the "
                 "replica, without gathered outputs");
    return search_by_steps(make, optimizer);
  }

 protected:
  /// The loss of outputs and labels on one device. The devices' threads call it concurrently.
  virtual WeightedSum loss(const Tensor& outputs, const Tensor& labels) const = 0;
  parallel::DataParallel<M>& parallel() noexcept { return parallel_; }

 private:
  auto loss_of_part() const {
    return [this](M& m, const datasets::Batch& part) { return loss(m(part.at(0)), part.at(1)); };
  }
  parallel::StepResult gathered_step(const datasets::Batch& batch, optim::Optimizer& optimizer) {
    const Tensor outputs = parallel_(batch.at(0));
    return update(loss(outputs, batch.at(1).to(outputs.device())), outputs.size(0), optimizer);
  }
  /// The losses of the parts are added up. The gathered outputs live as long as the step, as those
  /// of a training loop that a variable holds.
  parallel::StepResult spread_step(const datasets::Batch& batch, optim::Optimizer& optimizer) {
    const auto outputs = parallel_.distributed(batch.at(0));
    WeightedSum total;
    for (const auto& part : outputs.parts()) {
      const RowRange rows = part.replica.rows;
      const Tensor labels = batch.at(1).narrow(0, rows.begin, rows.size());
      const WeightedSum own = loss(part.value, labels.to(part.replica.device));
      const Tensor sum = own.sum.to(output_device_), weight = own.weight.to(output_device_);
      total.sum = total.sum.defined() ? total.sum + sum : sum;
      total.weight = total.weight.defined() ? total.weight + weight : weight;
    }
    const Tensor gathered = gathered_without_gradient(outputs);
    return update(total, gathered.size(0), optimizer);
  }
  Tensor gathered_without_gradient(const parallel::Distributed<Tensor>& outputs) const {
    const ContextScope scope([](Context& c) {
      c.phase = Phase::gather;
      c.category = Category::output;
    });
    return outputs.map([](const Tensor& part) { return part.detach(); }).gather(output_device_);
  }
  parallel::StepResult update(const WeightedSum& total,
                              std::int64_t rows,
                              optim::Optimizer& optimizer) {
    (total.sum / total.weight.to(total.sum.dtype())).backward();
    optimizer.step();
    parallel::StepResult result;
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    result.weight = total.weight.item_or(kNone);
    result.loss = total.sum.detach().item_or(kNone) / result.weight;
    for (const RowRange& of_device : plan(rows))
      result.rows.push_back(of_device.size());
    return result;
  }

  M module_;
  parallel::DataParallel<M> parallel_;
  Device output_device_;
  LossPlace place_;
};

/// Classifies {inputs, labels} with a module under DataParallel.
template <std::derived_from<nn::Module> M>
class Classifier final : public ModuleTask<M> {
 public:
  using ModuleTask<M>::ModuleTask;

  Score score(const datasets::Batch& batch) override {
    return score_logits(this->parallel()(batch.at(0)), batch.at(1));
  }

 protected:
  WeightedSum loss(const Tensor& logits, const Tensor& labels) const override {
    return cross_entropy_sum(logits, labels);
  }
};

/// Predicts the next token of {inputs (N, L), labels (N, L)} with a module that gives logits
/// (N, L, C), under DataParallel. Loss and accuracy are per token.
template <std::derived_from<nn::Module> M>
class LanguageModel final : public ModuleTask<M> {
 public:
  using ModuleTask<M>::ModuleTask;

  Score score(const datasets::Batch& batch) override {
    return score_logits(this->parallel()(batch.at(0)).flatten(0, 1), batch.at(1).flatten());
  }

 protected:
  WeightedSum loss(const Tensor& logits, const Tensor& labels) const override {
    return cross_entropy_sum(logits.flatten(0, 1), labels.flatten());
  }
};

}  // namespace tandem::training
