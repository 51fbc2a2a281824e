// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/task.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/reduce.hpp"

namespace tandem::training {

Score score_logits(const Tensor& logits, const Tensor& labels) {
  const autograd::NoGrad off;
  const Tensor here = labels.to(logits.device());
  const WeightedSum loss = cross_entropy_sum(logits, here);
  return {.correct = static_cast<std::int64_t>(sum(eq(argmax(logits, -1), here)).item()),
          .answers = here.numel(),
          .loss = loss.sum.item(),
          .weight = loss.weight.item()};
}

}  // namespace tandem::training
