// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "tandem/ops/loss.hpp"

#include "parallel/non_finite_check.hpp"

namespace tandem::parallel {

/// A replica's loss, on the tape and as numbers.
struct ReplicaLoss {
  WeightedSum part;
  double sum = 0;
  double weight = 0;
};

/// Gets the gradients of a step's batch: forward, loss, backward and reduction.
///
/// A pass is of one step. Its functions are called by the devices' threads, each for its part.
class GradientPass {
 public:
  using LossBody = std::function<WeightedSum(const Replica&)>;

  GradientPass(const NonFiniteCheck& non_finite, LossBody body)
      : non_finite_(non_finite), body_(std::move(body)) {}
  virtual ~GradientPass() = default;
  GradientPass(const GradientPass&) = delete;
  GradientPass& operator=(const GradientPass&) = delete;

  /// Earlier gradients are put aside, and added to those of the step at its end.
  virtual bool begins_anew(const Call& call) const = 0;
  virtual void run(Call& call, Call::Part& part) = 0;
  /// The gradients lie whole on device 0 afterwards, whatever the mode.
  virtual bool gives_whole_gradients() const noexcept { return false; }
  /// What the replicas' gradients of tensors from outside lack to be those of the mean loss.
  virtual double outside_factor(const Call& call) const = 0;

 protected:
  /// Forward, with the loss.
  ReplicaLoss loss_of(Call& call, Call::Part& part) const;
  const NonFiniteCheck& non_finite() const noexcept { return non_finite_; }

 private:
  const NonFiniteCheck& non_finite_;
  LossBody body_;
};

}  // namespace tandem::parallel
