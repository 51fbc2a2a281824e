// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// A replica that the others waited for in a step.
struct Straggler {
  Device device;
  double ratio = 0;  ///< its time per row over the median of the others', in forward
};

}  // namespace tandem::parallel
