// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/task.hpp"

#include <limits>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/reduce.hpp"

namespace tandem::training {

Score score_logits(const Tensor& logits, const Tensor& labels) {
  const autograd::NoGrad off;
  const Tensor here = labels.to(logits.device());
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const WeightedSum loss = cross_entropy_sum(logits, here);
  const Tensor correct = sum(eq(argmax(logits, -1), here));
  return {.correct = static_cast<std::int64_t>(correct.item_or(0)),
          .answers = correct.has_data() ? here.numel() : 0,
          .loss = loss.sum.item_or(kNone),
          .weight = loss.weight.item_or(kNone)};
}

}  // namespace tandem::training
