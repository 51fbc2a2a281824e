// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// A replica that the others waited for in a step.
struct Straggler {
  Device device;
  /// Its forward time over the time expected of it: the median of the others' times, scaled up if
  /// it has more rows than they do.
  double ratio = 0;
};

}  // namespace tandem::parallel
