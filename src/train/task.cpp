// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/task.hpp"

#include <limits>
#include <optional>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/error.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/runtime.hpp"

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

parallel::LargestBatch Task::search_by_steps(
    const std::function<datasets::Batch(std::int64_t)>& make, optim::Optimizer& optimizer) {
  const auto fits = [&](std::int64_t rows) -> std::optional<parallel::StepProbe> {
    for (const Device d : devices())
      logical_device(d).reset_peak();
    try {
      parallel::StepProbe probe{.rows = step(make(rows), optimizer).rows, .peak_bytes = {}};
      for (const Device d : devices())
        probe.peak_bytes.push_back(logical_device(d).memory_stats().peak);
      return probe;
    } catch (const std::exception& e) {
      if (find_cause<OutOfMemory>(e) == nullptr) throw;
      return std::nullopt;
    }
  };
  fits(static_cast<std::int64_t>(devices().size()));  // makes the optimizer's state
  return parallel::detail::search_largest_batch(devices(), std::int64_t{1} << 30, fits);
}

}  // namespace tandem::training
