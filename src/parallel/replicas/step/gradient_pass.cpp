// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/gradient_pass.hpp"

#include <limits>

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
  ReplicaLoss loss;
  loss.part = in_phase(part, Phase::forward, [&] { return body_(part.argument()); });
  in_phase(part, Phase::loss, [&] {
    TANDEM_CHECK(loss.part.sum.defined() && loss.part.sum.numel() == 1,
                 "step: the loss must be a scalar, got ",
                 loss.part.sum.describe());
    const bool has_data = loss.part.sum.has_data();
    loss.sum = loss.part.sum.detach().item_or(std::numeric_limits<double>::quiet_NaN());
    const auto rows = static_cast<double>(part.at.size());
    loss.weight = loss.part.weight.defined() ? loss.part.weight.item_or(rows) : rows;
    note_kind(call, part, loss.part.weight.defined());
    if (has_data) non_finite_.inspect_loss(call, part, loss.sum);
    if (call.loss_scale) loss.part.sum = widened(loss.part.sum) * *call.loss_scale;
  });
  return loss;
}

}  // namespace tandem::parallel
