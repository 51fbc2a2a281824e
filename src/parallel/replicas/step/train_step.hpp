// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tandem/parallel/step.hpp"

#include "parallel/reduce/parameter_hooks.hpp"
#include "parallel/replicas/step/earlier_gradients.hpp"
#include "parallel/replicas/step/engine.hpp"
#include "parallel/replicas/step/gradient_pass.hpp"
#include "parallel/replicas/step/step_update.hpp"

namespace tandem::parallel {

/// One step of training. Its caller prepares it, and the devices' threads take it up to a vote.
/// Then all of them commit it, or it has no effect.
class TrainStep {
 public:
  /// none: the step runs up to the vote, and none of its changes remain.
  enum class Effect : std::uint8_t { none, real };

  /// @param pass    computes the gradients.
  /// @param update  what is done with them.
  TrainStep(std::shared_ptr<Engine> engine,
            std::shared_ptr<Call> call,
            std::unique_ptr<GradientPass> pass,
            std::unique_ptr<StepUpdate> update,
            Effect effect);

  /// Takes the step.
  ///
  /// @param gate  the pass of the user's call.
  /// @throws ReplicaError, Timeout  nothing has changed.
  static StepResult take(const std::shared_ptr<TrainStep>& step, CallGate::Pass& gate);
  const Call& call() const noexcept { return *call_; }

 private:
  // In the order in which a step calls them.
  void prepare();
  void on_device(Call::Part& part);
  void reduce(Call::Part& part);
  void run_hooks(Call::Part& first);
  void prepare_update();
  StepResult result();
  void commit();
  void cancel();
  GradientPlace where_gradients_are(const Call::Part& first) const;
  double outside_factor() const;

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Call> call_;
  std::unique_ptr<GradientPass> pass_;
  std::unique_ptr<StepUpdate> update_;
  ParameterHooks hooks_;
  EarlierGradients earlier_;
};

}  // namespace tandem::parallel
