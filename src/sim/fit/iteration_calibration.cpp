// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/iteration_calibration.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "sim/fit/bounded_fit.hpp"
#include "sim/fit/fitted_constant.hpp"
#include "sim/fit/iteration_time.hpp"

namespace tandem::sim {
namespace {

using Records = std::span<const IterationRecord>;
using Times = std::vector<double>;

constexpr std::size_t kConstants = 2;
constexpr const char* kMatmul = "gpus.efficiency.matmul";
constexpr const char* kRing = "collectives.ring.efficiency";

/// Finds the inverses of the two efficiencies, in which times are nearly linear: times are taken as
/// linear where the search is, the best inverses within the bounds become the next place, and so
/// on.
class IterationFit {
 public:
  IterationFit(const Cluster& cluster, const IterationTable& table, Records records, bool fits_ring)
      : cluster_(cluster), table_(table), records_(records) {
    inverses_ = {1 / cluster.gpus.efficiency.matmul, 1 / cluster.collectives.ring.efficiency, 1};
    is_held_[1] = !fits_ring;
    times_ = times(inverses_);
  }

  void run() {
    hold_unknown();
    constexpr int kMostSteps = 40;
    for (int i = 0; i < kMostSteps && step(); ++i) {
    }
  }
  double efficiency(std::size_t constant) const { return 1 / inverses_[constant]; }
  bool is_held(std::size_t constant) const { return is_held_[constant]; }
  /// The machine with these constants.
  Cluster machine(const Unknowns& inverses) const {
    Cluster machine = cluster_;
    machine.gpus.efficiency.matmul = 1 / inverses[0];
    machine.collectives.ring.efficiency = 1 / inverses[1];
    return machine;
  }

 private:
  static constexpr double kMostInverse = 1 / kLeastEfficiency;

  Times times(const Unknowns& inverses) const {
    const Cluster at = machine(inverses);
    Times all;
    for (const IterationRecord& step : records_)
      all.push_back(iteration_time(at, step));
    return all;
  }
  double error(const Times& times) const {
    double sum = 0;
    for (std::size_t i = 0; i < times.size(); ++i)
      sum += std::pow(times[i] / table_.rows[i].seconds - 1, 2);
    return sum;
  }
  /// How times grow with an inverse. All 0: none depends on it, here.
  Times slopes(std::size_t constant) const {
    constexpr double kPart = 1e-3;
    if (is_held_[constant]) return Times(records_.size());
    const double sign = inverses_[constant] * (1 + kPart) > kMostInverse ? -1 : 1;
    Unknowns beside = inverses_;
    beside[constant] *= 1 + sign * kPart;
    Times all = times(beside);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = (all[i] - times_[i]) / (beside[constant] - inverses_[constant]);
    return all;
  }
  static bool matters(const Times& slope) {
    return std::ranges::any_of(slope, [](double s) { return s != 0; });
  }
  /// Holds what no time depends on, and what has the same part in all times as products have: one
  /// row does not tell two constants.
  void hold_unknown() {
    constexpr double kAlike = 1e-6;
    const Times products = slopes(0), rings = slopes(1);
    double both = 0, products_alone = 0, rings_alone = 0;
    for (std::size_t i = 0; i < products.size(); ++i) {
      const double square = table_.rows[i].seconds * table_.rows[i].seconds;
      both += products[i] * rings[i] / square;
      products_alone += products[i] * products[i] / square;
      rings_alone += rings[i] * rings[i] / square;
    }
    const bool is_alike = both * both >= (1 - kAlike) * products_alone * rings_alone;
    is_held_[0] = !matters(products);
    is_held_[1] = !matters(rings) || (matters(products) && is_alike);
  }
  Unknowns best_of_lines() const {
    std::array<Times, kConstants> slope;
    Unknowns lower{1, 1, 1}, upper{kMostInverse, kMostInverse, 1};
    for (std::size_t c = 0; c < kConstants; ++c) {
      slope[c] = slopes(c);
      if (!matters(slope[c])) lower[c] = upper[c] = inverses_[c];
    }
    BoundedFit fit;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const double measured = table_.rows[i].seconds;
      const double rest = times_[i] - slope[0][i] * inverses_[0] - slope[1][i] * inverses_[1];
      fit.add({slope[0][i] / measured, slope[1][i] / measured, rest / measured});
    }
    return fit.solve(lower, upper);
  }
  /// @return  false: nothing is better than where the search is.
  bool step() {
    constexpr double kExact = 1e-7;
    const Unknowns aim = best_of_lines();
    for (double part = 1; part > 1e-3; part /= 2) {
      Unknowns next = inverses_;
      double change = 0;
      for (std::size_t c = 0; c < kConstants; ++c) {
        // All of the way ends at a bound exactly.
        next[c] = part == 1 ? aim[c] : inverses_[c] + part * (aim[c] - inverses_[c]);
        change = std::max(change, std::fabs(next[c] / inverses_[c] - 1));
      }
      if (change < kExact) return false;
      const Times now = times(next);
      if (!(error(now) < error(times_))) continue;
      inverses_ = next;
      times_ = now;
      return true;
    }
    return false;
  }

  const Cluster& cluster_;
  const IterationTable& table_;
  Records records_;
  Unknowns inverses_;
  Times times_;  // with these
  std::array<bool, kConstants> is_held_ = {};
};

}  // namespace

IterationCalibration calibrate_iterations(const Cluster& cluster,
                                          const IterationTable& table,
                                          Records records,
                                          const CalibrateIterationsOptions& options) {
  compare_iterations(cluster, table, records);  // refuses tables that do not fit
  const bool has_several =
      std::ranges::any_of(table.rows, [](const IterationRow& row) { return row.gpus > 1; });
  IterationFit fit(cluster, table, records, options.fits_ring && has_several);
  fit.run();
  IterationCalibration result{.cluster = cluster, .comparison = {}};
  const auto take = [&](std::size_t constant, const char* path, double& value) {
    const double found = fit.efficiency(constant);
    result.constants.push_back(fitted(path, found, kLeastEfficiency, 1, written_number));
    if (fit.is_held(constant)) {
      result.constants.back().place = FitPlace::held;
      return;
    }
    value = std::min(1.0, rounded(found));
    result.cluster.sources[path] = "tandem cluster calibrate --iterations " + table.name;
  };
  take(0, kMatmul, result.cluster.gpus.efficiency.matmul);
  if (options.fits_ring && has_several) take(1, kRing, result.cluster.collectives.ring.efficiency);
  result.comparison = compare_iterations(result.cluster, table, records);
  return result;
}

}  // namespace tandem::sim
