// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "tandem/core/check.hpp"

#include "sim/fit/bounded_fit.hpp"
#include "sim/fit/fitted_constant.hpp"
#include "sim/links/ring_terms.hpp"
#include "sim/machine/quantity.hpp"

namespace tandem::sim {
namespace {

using Kind = comm::Collective::Kind;
using Tables = std::vector<const TimingTable*>;

constexpr double kMostAlpha0 = 1e-3, kMostAlpha1 = 1e-4, kMostGamma = 1e-5 / 32, kMostKappa = 2;

std::string time_text(double value) {
  return format_quantity(Dimension::time, value);
}

std::string gamma_text(double value) {
  return format_quantity(Dimension::root_time, value);
}

std::string rate_text(double value) {
  return format_quantity(Dimension::bandwidth, value);
}

/// Fits the constants of rings.
///
/// The time is linear in alpha0, alpha1, 1 / efficiency, kappa / efficiency and gamma.
class RingFit {
 public:
  RingFit(const Tables& tables, const Cluster& cluster, RingConstants& ring)
      : tables_(tables), cluster_(cluster), ring_(ring) {
    std::set<int> numbers;
    for (const TimingTable* table : tables)
      numbers.insert(table->gpus);
    has_numbers_ = numbers.size() > 1;
  }

  std::vector<FittedConstant> run() {
    Unknowns x = solve(has_numbers_, has_numbers_ ? 0 : ring_.kappa);
    double kappa = has_numbers_ ? x[3] / x[2] : ring_.kappa;
    if (kappa > kMostKappa) {
      x = solve(false, kMostKappa);
      kappa = kMostKappa;
    }
    ring_ = {.alpha0 = rounded(x[0]),
             .alpha1 = has_numbers_ ? rounded(x[1]) : ring_.alpha1,
             .efficiency = std::min(1.0, rounded(1 / x[2])),
             .kappa = has_numbers_ ? rounded(kappa) : kappa,
             .gamma = rounded(x[4])};
    return constants(x, kappa);
  }

 private:
  Unknowns solve(bool fits_kappa, double kappa) const {
    BoundedFit fit;
    for (const TimingTable* table : tables_) {
      const RingLinks links = ring_links(cluster_, table->gpus);
      const RingTerms terms = ring_terms(Kind::all_reduce, table->gpus, links);
      for (const TimingRow& row : table->rows) {
        const auto nbytes = static_cast<double>(row.nbytes);
        const double at_full_rate = nbytes / links.bandwidth / row.seconds;
        fit.add({1 / row.seconds,
                 terms.steps / row.seconds,
                 (terms.volume + kappa * terms.extra) * at_full_rate,
                 terms.extra * at_full_rate,
                 std::sqrt(nbytes * terms.volume) / row.seconds});
      }
    }
    const double held = has_numbers_ ? 0 : ring_.alpha1;
    return fit.solve({0, held, 1, 0, 0},
                     {kMostAlpha0,
                      has_numbers_ ? kMostAlpha1 : held,
                      1 / kLeastEfficiency,
                      fits_kappa ? kMostKappa / kLeastEfficiency : 0,
                      kMostGamma});
  }

  std::vector<FittedConstant> constants(const Unknowns& x, double kappa) const {
    const std::string path = "collectives.ring.";
    std::vector<FittedConstant> all{
        fitted(path + "alpha0", x[0], 0, kMostAlpha0, time_text),
        fitted(path + "alpha1", x[1], 0, kMostAlpha1, time_text),
        fitted(path + "efficiency", 1 / x[2], kLeastEfficiency, 1, written_number),
        fitted(path + "kappa", kappa, 0, kMostKappa, written_number),
        fitted(path + "gamma", x[4], 0, kMostGamma, gamma_text)};
    if (!has_numbers_) all[1].place = all[3].place = FitPlace::held;
    return all;
  }

  const Tables& tables_;
  const Cluster& cluster_;
  RingConstants& ring_;
  bool has_numbers_ = false;  ///< of GPUs, more than one
};

/// Fits the constants of all-reduces inside the switch.
std::vector<FittedConstant> fit_nvls(const Tables& tables,
                                     const Cluster& cluster,
                                     NvlsConstants& nvls) {
  const double links = cluster.nvlink->links_per_gpu * cluster.nvlink->bandwidth;
  BoundedFit fit;
  for (const TimingTable* table : tables) {
    for (const TimingRow& row : table->rows) {
      const double moved = static_cast<double>(row.nbytes) * nvls_volume(table->gpus);
      fit.add({1 / row.seconds, moved / links / row.seconds, std::sqrt(moved) / row.seconds, 0, 0});
    }
  }
  const Unknowns x =
      fit.solve({0, 1, 0, 0, 0}, {kMostAlpha0, 1 / kLeastEfficiency, kMostGamma, 0, 0});
  nvls.alpha = rounded(x[0]);
  nvls.bandwidth = std::min(links, rounded(links / x[1]));
  nvls.gamma = rounded(x[2]);
  const std::string path = "collectives.nvls.";
  return {fitted(path + "alpha", x[0], 0, kMostAlpha0, time_text),
          fitted(path + "bandwidth", links / x[1], kLeastEfficiency * links, links, rate_text),
          fitted(path + "gamma", x[2], 0, kMostGamma, gamma_text)};
}

/// Says that the constants of an object come from these tables.
void set_source(Cluster& cluster, const std::string& object, const Tables& tables) {
  std::erase_if(cluster.sources,
                [&](const auto& source) { return source.first.starts_with(object + "."); });
  std::string names;
  for (const TimingTable* table : tables)
    names += (names.empty() ? "" : ", ") + table->name;
  cluster.sources[object] = "tandem cluster calibrate --allreduce " + names;
}

}  // namespace

Calibration calibrate_all_reduce(const std::vector<TimingTable>& tables, const Cluster& cluster) {
  TANDEM_CHECK(!tables.empty(), "calibrate_all_reduce: there is no table; give at least one");
  Tables rings, switches;
  const std::optional<NvlsConstants>& nvls = cluster.collectives.nvls;
  for (const TimingTable& table : tables) {
    TANDEM_CHECK(table.gpus <= cluster.gpus.count,
                 table.name,
                 ": times of ",
                 table.gpus,
                 " GPUs; a node of ",
                 cluster.name,
                 " has ",
                 cluster.gpus.count);
    compare_all_reduce(cluster, table);  // refuses tables that do not fit
    (nvls && table.gpus >= nvls->least_gpus ? switches : rings).push_back(&table);
  }
  Calibration result{.cluster = cluster};
  CollectiveConstants& constants = result.cluster.collectives;
  if (!rings.empty()) {
    result.constants = RingFit(rings, cluster, constants.ring).run();
    set_source(result.cluster, "collectives.ring", rings);
  }
  if (!switches.empty()) {
    std::ranges::copy(fit_nvls(switches, cluster, *constants.nvls),
                      std::back_inserter(result.constants));
    set_source(result.cluster, "collectives.nvls", switches);
  }
  for (const TimingTable& table : tables) {
    const AllReduceComparison now = compare_all_reduce(result.cluster, table);
    result.tables.push_back({.name = table.name,
                             .gpus = table.gpus,
                             .error = now.error,
                             .null_error = now.null_error,
                             .is_chain = ring_links(result.cluster, table.gpus).is_chain});
  }
  return result;
}

}  // namespace tandem::sim
