// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/optim/grad_scaler.hpp"
#include "tandem/parallel/non_finite.hpp"
#include "tandem/parallel/straggler.hpp"

namespace tandem::parallel {

/// What else a step does; name the fields: `{.scaler = &scaler}`.
struct StepOptions {
  /// Does everything that a step with a scaler needs: scales the loss in the replicas, scales the
  /// reduced gradients back, skips the update on all devices if a gradient overflowed, and adapts
  /// the scale. Null: no scaling.
  optim::GradScaler* scaler = nullptr;
};

/// The loss of a step, and what else it reports.
struct StepResult {
  double loss = 0;    ///< sum over all replicas / weight; NaN on shape-only devices
  double weight = 0;  ///< what the loss was divided by: the rows, or the labels that count
  std::vector<std::int64_t> rows = {};  ///< by device
  /// Gradients overflowed under the scaler, or NonFinite::skip found something. The step has had no
  /// effect, as if it had failed.
  bool skipped = false;
  std::optional<NonFiniteValue> non_finite = {};  ///< the first found: a loss, else a gradient
  std::optional<Straggler> straggler = {};        ///< see Checks::straggler_ratio
};

}  // namespace tandem::parallel
