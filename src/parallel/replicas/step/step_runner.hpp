// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/parallel/detail/batch_size.hpp"
#include "tandem/parallel/step_model.hpp"

#include "parallel/plan/step_planner.hpp"
#include "parallel/replicas/step/train_step.hpp"

namespace tandem::parallel {

/// Takes steps with one loss and one optimizer: plans a batch's rows, makes each step, measures
/// steps without effect, and replans if a device is out of memory. It is made for one call of the
/// user's.
class StepRunner {
 public:
  /// @param body       must outlive this object.
  /// @param optimizer  null: the gradients are only added up.
  StepRunner(std::shared_ptr<Engine> engine,
             const GradientPass::LossBody& body,
             optim::Optimizer* optimizer)
      : engine_(std::move(engine)), body_(body), optimizer_(optimizer) {}

  /// See ReplicaSet::step.
  StepResult step(const BatchSize& batch, const StepOptions& options);
  /// See ReplicaSet::measure.
  StepModel measure(const BatchSize& batch);
  /// See ReplicaSet::try_batch.
  std::optional<StepProbe> try_batch(const BatchSize& batch);

 private:
  /// A step that has been taken, and what it returned.
  struct Taken {
    std::shared_ptr<TrainStep> step;
    StepResult result;
  };
  Taken take(const std::vector<RowRange>& rows,
             optim::GradScaler* scaler,
             TrainStep::Effect effect);
  /// Makes a step of planned rows: its call, and the pass that computes its gradients.
  std::shared_ptr<TrainStep> make(const std::vector<RowRange>& planned,
                                  optim::GradScaler* scaler,
                                  TrainStep::Effect effect);
  /// Takes a step without effect, for plans.
  StepProbe rehearse(const std::vector<std::int64_t>& rows);
  StepPlanner::Rehearse rehearsal() {
    return [this](const std::vector<std::int64_t>& rows) { return rehearse(rows); };
  }

  std::shared_ptr<Engine> engine_;
  const GradientPass::LossBody& body_;
  optim::Optimizer* optimizer_;
};

}  // namespace tandem::parallel
