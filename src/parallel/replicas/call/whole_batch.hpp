// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tandem::parallel {

/// The rows of all processes as one batch, those of process 0 first.
struct WholeBatch {
  std::int64_t rows = 0;
  std::int64_t before = 0;  ///< of earlier processes
  int first = -1;           ///< the first rank of all devices that has rows; -1: none has
  int idle_process = -1;    ///< the first process without rows; -1: all have some
};

/// What all processes have of a step, once they have agreed to it.
struct WholeStep {
  double sum = 0, weight = 0;  ///< of the loss
  bool has_no_effect = false;
};

}  // namespace tandem::parallel
