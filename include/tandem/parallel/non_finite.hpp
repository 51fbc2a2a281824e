// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// What a step does about an infinity or NaN.
enum class NonFinite : std::uint8_t {
  off,    ///< nothing: nobody looks
  warn,   ///< goes on, and says so in StepResult::non_finite
  error,  ///< throws ReplicaError; the step has no effect
  skip,   ///< has no effect, but for StepResult, which says what was found
};

/// Where a step met an infinity or NaN first.
struct NonFiniteValue {
  Device device;     ///< whose replica made it
  std::string name;  ///< the parameter whose gradient it is in; empty: the loss
};

}  // namespace tandem::parallel
