// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/gradient_pass.hpp"

#include <limits>

#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"

#include "ops/autocast.hpp"

namespace tandem::parallel {

ReplicaLoss GradientPass::loss_of(Call& call, Call::Part& part) const {
  ReplicaLoss loss;
  loss.part = in_phase(part, Phase::forward, [&] { return body_(part.argument()); });
  in_phase(part, Phase::loss, [&] {
    TANDEM_CHECK(loss.part.sum.defined() && loss.part.sum.numel() == 1,
                 "step: the loss must be a scalar, got ",
                 loss.part.sum.describe());
    const bool has_data = loss.part.sum.has_data();
    loss.sum = loss.part.sum.detach().item_or(std::numeric_limits<double>::quiet_NaN());
    loss.weight = loss.part.weight.item_or(static_cast<double>(part.at.size()));
    if (has_data) non_finite_.inspect_loss(call, part, loss.sum);
    if (call.loss_scale) loss.part.sum = widened(loss.part.sum) * *call.loss_scale;
  });
  return loss;
}

}  // namespace tandem::parallel
