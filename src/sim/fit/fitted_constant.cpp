// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/fit/fitted_constant.hpp"

#include <cmath>

#include "tandem/core/check.hpp"

namespace tandem::sim {

double rounded(double value) {
  if (value == 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(std::fabs(value))) - 4);
  return std::round(value / unit) * unit;
}

std::string written_number(double value) {
  return detail::concat(value);
}

FitPlace place_of(double value, double lower, double upper) {
  if (value <= lower) return FitPlace::at_lower;
  return value >= upper ? FitPlace::at_upper : FitPlace::inside;
}

}  // namespace tandem::sim
