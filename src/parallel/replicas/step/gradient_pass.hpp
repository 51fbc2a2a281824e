// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "tandem/ops/loss.hpp"

#include "parallel/replicas/step/non_finite_check.hpp"
#include "tensor/late_items.hpp"

namespace tandem::parallel {

/// A replica's loss, on the tape and as numbers.
struct ReplicaLoss {
  WeightedSum part;
  LateItems numbers;  ///< its sum, and its weight if it has one
  double rows = 0;    ///< its weight if it has none, or one without data

  bool knows_weight() const { return !part.weight.defined() || numbers.is_known(1); }
  double weight() {
    return part.weight.defined() && part.weight.has_data() ? numbers.get(1) : rows;
  }
};

/// Computes the gradients of a step's batch: forward, loss, backward and reduction.
///
/// A pass belongs to one step. Each device's thread calls its functions for its own part.
class GradientPass {
 public:
  using LossBody = std::function<WeightedSum(const Replica&)>;

  GradientPass(const NonFiniteCheck& non_finite, LossBody body)
      : non_finite_(non_finite), body_(std::move(body)) {}
  virtual ~GradientPass() = default;
  GradientPass(const GradientPass&) = delete;
  GradientPass& operator=(const GradientPass&) = delete;

  /// Whether earlier gradients are put aside, and added to the step's gradients at its end.
  virtual bool begins_anew(const Call& call) const = 0;
  virtual void run(Call& call, Call::Part& part) = 0;
  /// Whether the whole gradients are on device 0 afterwards, whatever the mode.
  virtual bool gives_whole_gradients() const noexcept { return false; }
  /// The factor that turns the replicas' gradients of outside tensors into those of the mean loss.
  virtual double outside_factor(const Call& call) const = 0;

 protected:
  /// Runs the forward, including the loss.
  ReplicaLoss loss_of(Call& call, Call::Part& part) const;
  /// The sum, which is looked at. To be called when backward is queued: a GPU's host does not
  /// wait before that.
  double value_of(Call& call, Call::Part& part, ReplicaLoss& loss) const;
  const NonFiniteCheck& non_finite() const noexcept { return non_finite_; }

 private:
  const NonFiniteCheck& non_finite_;
  LossBody body_;
};

}  // namespace tandem::parallel
