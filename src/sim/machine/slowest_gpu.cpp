// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/machine/slowest_gpu.hpp"

#include <cmath>
#include <numbers>

namespace tandem::sim {

double slowest_gpu(int n) {
  // The mean of the largest: the integral of x times the density of the maximum, n f(x) F(x)^(n-1).
  constexpr double kEnd = 9, kStep = 1.0 / 512;
  double mean = 0;
  for (double x = -kEnd; x <= kEnd; x += kStep) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    const double below = std::erfc(-x / std::numbers::sqrt2) / 2;
    mean += x * n * density * std::pow(below, n - 1) * kStep;
  }
  return n == 1 ? 0 : mean;
}

}  // namespace tandem::sim
