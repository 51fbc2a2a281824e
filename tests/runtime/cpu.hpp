// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/runtime/device.hpp"

namespace tandem::testing {

/// The virtual device of that number.
inline Device cpu(int index) {
  return {DeviceType::cpu, index};
}

}  // namespace tandem::testing
