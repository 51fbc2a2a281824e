// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/parallel/non_finite.hpp"

namespace tandem::parallel {

/// What a step looks for besides its work.
struct Checks {
  NonFinite non_finite_loss = NonFinite::error;
  /// Anything but off costs a pass over the reduced gradients, and a read from the device.
  NonFinite non_finite_gradients = NonFinite::off;
  /// Number of steps between comparisons of the replicas' parameters and buffers with device 0's,
  /// by their hashes. A step that finds a difference throws ReplicaError with ReplicaDrift nested,
  /// and has no effect. 0: never.
  std::int64_t drift_every = 0;
  /// A step reports, in StepResult::straggler, the device whose forward takes more than this many
  /// times as long as the others'. Replicas with synchronised batch norm wait for each other in
  /// forward, so none stands out.
  double straggler_ratio = 5;
};

}  // namespace tandem::parallel
