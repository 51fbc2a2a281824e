// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <nlohmann/json.hpp>

namespace tandem::report {

/// The number; null if it is not finite, which JSON cannot write.
inline nlohmann::json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

}  // namespace tandem::report
