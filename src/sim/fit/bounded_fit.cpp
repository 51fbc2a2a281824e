// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/fit/bounded_fit.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace tandem::sim {
namespace {

constexpr double kDependent = 1e-11;  // a pivot that is as small is one of factors that depend

}  // namespace

void BoundedFit::add(const Unknowns& factors) {
  for (std::size_t i = 0; i < kMostUnknowns; ++i) {
    for (std::size_t j = 0; j < kMostUnknowns; ++j)
      products_[i][j] += factors[i] * factors[j];
    sums_[i] += factors[i];
  }
  ++count_;
}

double BoundedFit::error(const Unknowns& unknowns) const {
  double sum = count_;
  for (std::size_t i = 0; i < kMostUnknowns; ++i) {
    sum -= 2 * sums_[i] * unknowns[i];
    for (std::size_t j = 0; j < kMostUnknowns; ++j)
      sum += unknowns[i] * products_[i][j] * unknowns[j];
  }
  return sum;
}

/// Solves the normal equations for the free unknowns, the others being given. Columns are scaled to
/// length 1, so that pivots tell whether factors depend on each other.
bool BoundedFit::solve_free(const Places& places, Unknowns& unknowns) const {
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < kMostUnknowns; ++i)
    if (places[i] == Place::free) free.push_back(i);
  const std::size_t n = free.size();
  std::array<std::array<double, kMostUnknowns + 1>, kMostUnknowns> rows{};
  const auto length = [&](std::size_t i) { return std::sqrt(products_[free[i]][free[i]]); };
  for (std::size_t i = 0; i < n; ++i) {
    if (!(length(i) > 0)) return false;
    double rest = sums_[free[i]];
    for (std::size_t j = 0; j < kMostUnknowns; ++j)
      if (places[j] != Place::free) rest -= products_[free[i]][j] * unknowns[j];
    for (std::size_t j = 0; j < n; ++j)
      rows[i][j] = products_[free[i]][free[j]] / (length(i) * length(j));
    rows[i][n] = rest / length(i);
  }
  for (std::size_t i = 0; i < n; ++i) {  // the matrix is positive definite: no pivoting
    if (rows[i][i] < kDependent) return false;
    for (std::size_t k = 0; k < n; ++k) {
      if (k == i) continue;
      const double factor = rows[k][i] / rows[i][i];
      for (std::size_t j = i; j <= n; ++j)
        rows[k][j] -= factor * rows[i][j];
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    unknowns[free[i]] = rows[i][n] / rows[i][i] / length(i);
  return true;
}

/// The problem is convex, so the best of all places of the unknowns is the answer: 3^5 small
/// systems.
Unknowns BoundedFit::solve(const Unknowns& lower, const Unknowns& upper) const {
  Unknowns best = lower;
  double least = std::numeric_limits<double>::infinity();
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < kMostUnknowns; ++i)
    combinations *= 3;
  for (std::size_t code = 0; code < combinations; ++code) {
    Places places{};
    Unknowns unknowns = lower;
    bool is_used = true;
    for (std::size_t i = 0, rest = code; i < kMostUnknowns; ++i, rest /= 3) {
      places[i] = static_cast<Place>(rest % 3);
      if (places[i] == Place::upper) unknowns[i] = upper[i];
      if (lower[i] == upper[i] && places[i] != Place::lower) is_used = false;
    }
    if (!is_used || !solve_free(places, unknowns)) continue;
    for (std::size_t i = 0; i < kMostUnknowns; ++i)
      if (!(unknowns[i] >= lower[i] && unknowns[i] <= upper[i])) is_used = false;
    const double now = is_used ? error(unknowns) : least;
    if (now < least) {
      least = now;
      best = unknowns;
    }
  }
  return best;
}

}  // namespace tandem::sim
