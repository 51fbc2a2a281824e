// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tandem/optim/optimizer.hpp"
#include "tandem/parallel/step.hpp"

#include "parallel/replicas/call/call_gate.hpp"
#include "parallel/replicas/module/calls.hpp"
#include "parallel/replicas/step/drift_check.hpp"
#include "parallel/replicas/step/gradient_pass.hpp"

namespace tandem::parallel {

/// One step of training. Its caller prepares it, and the devices' threads take it up to a vote.
/// Then all of them commit it, or it has no effect.
class TrainStep {
 public:
  /// What a step works with.
  struct Parts {
    ModuleParameters& parameters;
    ModuleBuffers& buffers;
    ModuleGradients& gradients;
    NonFiniteCheck& non_finite;
    DriftCheck& drift;
    Calls& calls;
    CallRunner& runner;
    double straggler_ratio = 5;
  };
  /// none: the step runs up to the vote, and none of its changes remain.
  enum class Effect : std::uint8_t { none, real };

  /// @param pass       computes the gradients.
  /// @param optimizer  null: the gradients are only added up.
  TrainStep(const Parts& parts,
            std::shared_ptr<Call> call,
            std::unique_ptr<GradientPass> pass,
            optim::Optimizer* optimizer,
            optim::GradScaler* scaler,
            Effect effect);

  /// Takes the step.
  ///
  /// @param gate   the pass of the user's call.
  /// @param owner  kept alive by the devices' jobs.
  /// @throws ReplicaError, Timeout  nothing has changed.
  static StepResult take(const std::shared_ptr<TrainStep>& step,
                         CallGate::Pass& gate,
                         const std::shared_ptr<const void>& owner);
  const Call& call() const noexcept { return *call_; }

 private:
  // In the order in which a step calls them.
  void prepare();
  void on_device(Call::Part& part);
  void reduce(Call::Part& part);
  void run_hooks(Call::Part& first);
  void prepare_update();
  void add_earlier(Call::Part& first);
  void update(Call::Part& part);
  void pass_outside(Call::Part& part);
  StepResult result();
  void commit();
  GradientPlace where_gradients_are(const Call::Part& first) const;
  /// Other devices get what device 0 has changed of gradients that sleep.
  static void share_gradients(const Call::Part& first);
  double outside_factor() const;

  Parts parts_;
  std::shared_ptr<Call> call_;
  std::unique_ptr<GradientPass> pass_;
  optim::Optimizer* optimizer_;
  optim::GradScaler* scaler_;
  GradientSnapshot earlier_;   // gradients from before the step
  bool adds_earlier_ = false;  // they are put aside, and added to those that have been reduced
};

}  // namespace tandem::parallel
