// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/gradient_pass.hpp"

#include <utility>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"

#include "ops/autocast.hpp"

namespace tandem::parallel {
namespace {

/// Each replica says what it has before it looks, so that of two that differ one sees it.
void note_kind(Call& call, Call::Part& part, bool is_weighted) {
  part.has_weighted_loss |= is_weighted;
  (is_weighted ? call.has_weighted_losses : call.has_mean_losses) = true;
  TANDEM_CHECK(!(call.has_weighted_losses && call.has_mean_losses),
               "step: the losses of some replicas have a weight, and those of others have none; "
               "return a sum and its weight from all of them, or a mean from all");
}

}  // namespace

ReplicaLoss GradientPass::loss_of(Call& call, Call::Part& part) const {
  WeightedSum on_tape = in_phase(part, Phase::forward, [&] { return body_(part.argument()); });
  return in_phase(part, Phase::loss, [&] {
    TANDEM_CHECK(on_tape.sum.defined() && on_tape.sum.numel() == 1,
                 "step: the loss must be a scalar, got ",
                 on_tape.sum.describe());
    std::vector<Tensor> scalars{on_tape.sum.detach()};
    if (on_tape.weight.defined()) scalars.push_back(on_tape.weight);
    LateItems numbers(scalars);
    note_kind(call, part, on_tape.weight.defined());
    if (numbers.is_known(0) && on_tape.sum.has_data())
      non_finite_.inspect_loss(call, part, numbers.get(0));
    if (call.loss_scale) on_tape.sum = widened(on_tape.sum) * *call.loss_scale;
    return ReplicaLoss{std::move(on_tape), std::move(numbers), static_cast<double>(part.at.size())};
  });
}

double GradientPass::value_of(Call& call, Call::Part& part, ReplicaLoss& loss) const {
  if (loss.numbers.is_known(0)) return loss.numbers.get(0);
  return in_phase(part, Phase::loss, [&] {
    const double value = loss.numbers.get(0);
    non_finite_.inspect_loss(call, part, value);
    return value;
  });
}

}  // namespace tandem::parallel
