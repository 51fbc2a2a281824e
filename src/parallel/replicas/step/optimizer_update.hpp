// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/optim/optimizer.hpp"

#include "parallel/replicas/module/module_gradients.hpp"
#include "parallel/replicas/step/step_update.hpp"

namespace tandem::parallel {

/// An optimizer updates the parameters, on device 0 or on each device its share.
class OptimizerUpdate final : public StepUpdate {
 public:
  /// @param scaler  scales the loss; null: it stays. The arguments outlive this object.
  OptimizerUpdate(optim::Optimizer& optimizer,
                  optim::GradScaler* scaler,
                  ModuleGradients& gradients)
      : optimizer_(optimizer), scaler_(scaler), gradients_(gradients) {}

  void begin(Call& call) override;
  bool is_shared(ParameterUpdate& update) const override { return update.is_shared(); }
  void prepare(Call& call) override;
  void run(Call& call, Call::Part& part, double outside) override;
  void cancel() noexcept override { optimizer_.cancel(); }
  void note_overflow(optim::GradScaler::Overflow overflow) override;
  void commit(Call& call) override;
  void end(const Call&, double) override {}

 private:
  /// Gives tensors from outside their gradients, which the optimizer may be about to use.
  void pass_outside(const Call& call, Call::Part& part, double factor);
  void update_share(Call::Part& part);

  optim::Optimizer& optimizer_;
  optim::GradScaler* scaler_;
  ModuleGradients& gradients_;
};

}  // namespace tandem::parallel
