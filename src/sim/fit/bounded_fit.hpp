// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace tandem::sim {

/// The constants of a ring's time at most.
inline constexpr std::size_t kMostUnknowns = 5;
using Unknowns = std::array<double, kMostUnknowns>;

/// Finds the numbers between two bounds that make sums of their multiples nearest to 1.
class BoundedFit {
 public:
  /// Adds a sum, sum of factors[i] x unknown[i], which is to be 1.
  void add(const Unknowns& factors);
  /// The unknowns that give the least sum of squared differences from 1.
  ///
  /// Where a factor is 0 in all sums, or factors depend on each other, lower bounds are preferred.
  /// An unknown whose bounds are equal is held.
  Unknowns solve(const Unknowns& lower, const Unknowns& upper) const;

 private:
  /// Where an unknown is, for each: free, at its lower bound, or at its upper one.
  enum class Place : unsigned char { lower, upper, free };
  using Places = std::array<Place, kMostUnknowns>;

  bool solve_free(const Places& places, Unknowns& unknowns) const;
  double error(const Unknowns& unknowns) const;

  std::array<Unknowns, kMostUnknowns> products_ = {};  ///< sums of factors[i] x factors[j]
  Unknowns sums_ = {};                                 ///< sums of factors[i]
  double count_ = 0;
};

}  // namespace tandem::sim
