// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/parallel/non_finite.hpp"

#include "parallel/module_gradients.hpp"

namespace tandem::parallel {

/// Looks for infinities and NaN in a step's loss and gradients, and decides what becomes of it.
class NonFiniteCheck {
 public:
  struct Options {
    NonFinite loss, gradients;
    bool bitwise = false;  ///< gradients are added up on device 0 alone
  };
  NonFiniteCheck(const Replicas& replicas, const ModuleGradients& gradients, Options options)
      : replicas_(replicas), gradients_(gradients), options_(options) {}

  /// Where all devices get the sum, notes what a replica makes before it is reduced. After arm.
  void watch(const Call& call, Call::Part& part) const;
  /// @throws InvalidArgument  the loss is not finite, and that is an error.
  void inspect_loss(Call& call, Call::Part& part, double sum) const;
  /// The same for the batch's weight, without which there is no mean loss.
  void inspect_weight(Call& call, Call::Part& part, double total) const;
  /// Scales the reduced gradients back where the loss was scaled, and looks at them if asked to.
  void inspect_gradients(Call& call, Call::Part& part) const;
  /// The first value found, for the step's result. After the call.
  std::optional<NonFiniteValue> find(const Call& call) const;
  /// @throws ReplicaError  gradients are not finite, and that is an error.
  void check(Call& call, const std::optional<NonFiniteValue>& found) const;

 private:
  bool looks(const Call& call) const {
    return call.loss_scale || options_.gradients != NonFinite::off;
  }
  /// The gradients lie whole: on each replica its own, or all on device 0.
  bool are_whole() const { return !gradients_.reduces() || options_.bitwise; }
  /// The loss is not a number to go on with, as `text` says: an error, a skipped step, or noted.
  void note_bad_loss(Call& call, Call::Part& part, const std::string& text) const;
  /// The reduced gradients that a replica updates by.
  std::vector<Tensor> reduced_gradients(const Call::Part& part) const;
  const std::shared_ptr<optim::Arena>& arena() const { return replicas_.front()->parameters(); }

  const Replicas& replicas_;
  const ModuleGradients& gradients_;
  Options options_;
};

}  // namespace tandem::parallel
