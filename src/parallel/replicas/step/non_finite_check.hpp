// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/parallel/non_finite.hpp"

#include "parallel/replicas/module/module_gradients.hpp"

namespace tandem::parallel {

/// Looks for infinities and NaN in a step's loss and gradients, and decides what happens to the
/// step.
class NonFiniteCheck {
 public:
  struct Options {
    NonFinite loss, gradients;
    bool bitwise = false;  ///< gradients are added up on device 0 only
  };
  NonFiniteCheck(const Replicas& replicas, const ModuleGradients& gradients, Options options)
      : replicas_(replicas), gradients_(gradients), options_(options) {}

  /// If all devices get the sum, notes what each replica makes before the reduction. Call it after
  /// arm.
  void watch(const Call& call, Call::Part& part) const;
  /// @throws InvalidArgument  the loss is not finite, and the options make that an error.
  void inspect_loss(Call& call, Call::Part& part, double sum) const;
  /// The same for the batch's weight. Without it there is no mean loss.
  void inspect_weight(Call& call, Call::Part& part, double total) const;
  /// Scales the reduced gradients back if the loss was scaled, and checks them if asked to.
  void inspect_gradients(Call& call, Call::Part& part) const;
  /// The first value found, for the step's result. To be called after the call.
  std::optional<NonFiniteValue> find(const Call& call) const;
  /// @throws ReplicaError  gradients are not finite, and the options make that an error.
  void check(Call& call, const std::optional<NonFiniteValue>& found) const;

 private:
  bool looks(const Call& call) const {
    return call.loss_scale || options_.gradients != NonFinite::off;
  }
  /// Whether gradients are whole: each replica has its own, or device 0 has all.
  bool are_whole() const { return !gradients_.reduces() || options_.bitwise; }
  /// Handles a loss that the step cannot use, described by `text`: throws, skips the step, or notes
  /// it.
  void note_bad_loss(Call& call, Call::Part& part, const std::string& text) const;
  /// The reduced gradients that a replica updates with.
  std::vector<Tensor> reduced_gradients(const Call::Part& part) const;
  const std::shared_ptr<optim::Arena>& arena() const { return replicas_.front()->parameters(); }

  const Replicas& replicas_;
  const ModuleGradients& gradients_;
  Options options_;
};

}  // namespace tandem::parallel
