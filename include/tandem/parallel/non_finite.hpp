// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// What a step does about an infinity or NaN.
enum class NonFinite : std::uint8_t {
  off,    ///< no check
  warn,   ///< the step goes on, and reports the value in StepResult::non_finite
  error,  ///< the step throws ReplicaError and has no effect
  skip,   ///< the step has no effect, and reports the value in StepResult::non_finite
};

/// Where a step first met an infinity or NaN.
struct NonFiniteValue {
  Device device;     ///< the device whose replica produced it
  std::string name;  ///< the parameter whose gradient contains it; empty: the loss
};

}  // namespace tandem::parallel
