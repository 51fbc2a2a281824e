// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/sim/calibration.hpp"

namespace tandem::sim {

/// The least part of what links or a GPU can do that a fit may find.
inline constexpr double kLeastEfficiency = 0.05;

/// Four digits, which is more than tables tell.
double rounded(double value);
std::string written_number(double value);
FitPlace place_of(double value, double lower, double upper);

/// A constant as it is reported; `write` writes it with its unit.
template <class Write>
FittedConstant fitted(
    const std::string& path, double value, double lower, double upper, const Write& write) {
  return {.path = path,
          .place = place_of(value, lower, upper),
          .value = write(rounded(value)),
          .lower = write(lower),
          .upper = write(upper)};
}

}  // namespace tandem::sim
