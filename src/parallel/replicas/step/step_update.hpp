// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/optim/grad_scaler.hpp"

#include "parallel/replicas/call/call.hpp"
#include "parallel/update/parameter_update.hpp"

namespace tandem::parallel {

/// What a step does with the gradients that it has reduced: an optimizer updates with them, or they
/// stay for somebody else. The functions stand in the order in which a step calls them.
class StepUpdate {
 public:
  virtual ~StepUpdate() = default;
  /// Before the devices begin.
  virtual void begin(Call& call) = 0;
  /// Whether each device updates its share, for which all must have their gradients.
  virtual bool is_shared(ParameterUpdate& update) const = 0;
  /// On device 0 before the vote: if it fails, nothing has changed.
  virtual void prepare(Call& call) = 0;
  /// On a device after the vote: the part keeps its error.
  ///
  /// @param outside  the factor of the gradients of tensors from outside.
  virtual void run(Call& call, Call::Part& part, double outside) = 0;
  /// All devices have ended, and the step has no effect: nothing of it is kept.
  virtual void cancel() noexcept = 0;
  /// All devices have ended, and the step may have no effect.
  virtual void note_overflow(optim::GradScaler::Overflow overflow) = 0;
  /// The step has an effect.
  virtual void commit(Call& call) = 0;
  /// The step has been committed.
  virtual void end(const Call& call, double outside) = 0;
};

}  // namespace tandem::parallel
