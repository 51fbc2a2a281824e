// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/all_reduce_comparison.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tandem/sim/collective_model.hpp"

#include "sim/machine/check_unit.hpp"

namespace tandem::sim {
namespace {

using Row = AllReduceComparison::Row;

/// The mean error of `predict(row)`.
template <class Predict>
MeanError mean_error(const std::vector<Row>& rows, const Predict& predict) {
  MeanError error;
  double powers = 0;
  for (const Row& row : rows) {
    const double one = std::fabs(predict(row) / row.measured - 1);
    error.all += one / static_cast<double>(rows.size());
    if (!std::has_single_bit(row.nbytes)) continue;
    error.powers_of_two += one;
    ++powers;
  }
  if (powers > 0) error.powers_of_two /= powers;
  return error;
}

}  // namespace

AllReduceComparison compare_all_reduce(const Cluster& cluster, const TimingTable& table) {
  const CollectiveModel model(cluster, table.gpus);
  AllReduceComparison comparison;
  double sum = 0, squares = 0;
  const double on_bus = 2.0 * (table.gpus - 1) / table.gpus;
  for (const TimingRow& row : table.rows) {
    const AlgorithmTime t = model.time(comm::Collective::Kind::all_reduce, row.nbytes);
    comparison.rows.push_back({.nbytes = row.nbytes,
                               .measured = row.seconds,
                               .predicted = t.seconds,
                               .algorithm = t.algorithm});
    const double rate = on_bus * static_cast<double>(row.nbytes) / row.seconds;
    sum += rate;
    squares += rate * rate;
  }
  check_unit(table.name, comparison.rows, cluster.name + "'s links", "are they in nanoseconds?");
  comparison.null_bandwidth = squares / sum;
  comparison.error = mean_error(comparison.rows, [](const Row& row) { return row.predicted; });
  comparison.null_error = mean_error(comparison.rows, [&](const Row& row) {
    return on_bus * static_cast<double>(row.nbytes) / comparison.null_bandwidth;
  });
  return comparison;
}

}  // namespace tandem::sim
