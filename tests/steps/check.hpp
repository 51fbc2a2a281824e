// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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

/// What fail_each() has done.
struct FailedPieces {
  std::int64_t count = 0;              ///< pieces of work that failed
  std::optional<std::string> finding;  ///< what is wrong; none: nothing is
  Case done;                           ///< the statements up to the finding
};

/// Lets each piece of work of a case's last statement fail once in every mode.
///
/// Nothing may have changed after a failure, and the statement is to go well when it is made again.
FailedPieces fail_each(const Case& c);

}  // namespace tandem::steps
