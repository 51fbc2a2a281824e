// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "steps/case.hpp"

namespace tandem::steps {

/// Runs a case on one device and in every mode.
///
/// A mode is to have one device's values within rounding, and the bits of the other modes. A
/// statement that fails is to change nothing, and to go well when it is made again.
/// @return  what is wrong; none: nothing is.
std::optional<std::string> check(const Case& c);

}  // namespace tandem::steps
