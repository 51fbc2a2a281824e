// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parallel/replicas/step/step_update.hpp"

namespace tandem::parallel {

/// The gradients stay in the module: no optimizer was given.
class KeptGradients final : public StepUpdate {
 public:
  void begin(Call&) override {}
  bool is_shared(ParameterUpdate&) const override { return false; }
  void prepare(Call&) override {}
  void run(Call&, Call::Part&, double) override {}
  void cancel() noexcept override {}
  void note_overflow(optim::GradScaler::Overflow) override {}
  void commit(Call&) override {}
  void end(const Call& call, double outside) override {
    if (call.has_outside()) pass_outside(call.outside(), outside);
  }
};

}  // namespace tandem::parallel
