// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/iteration_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>

#include "tandem/core/check.hpp"

#include "sim/fit/iteration_time.hpp"
#include "sim/machine/check_unit.hpp"

namespace tandem::sim {
namespace {

using TimedRow = IterationComparison::Row;
using TimedRows = std::vector<TimedRow>;
using Records = std::span<const IterationRecord>;

constexpr double kLeastSpeed = 1e-3, kMostSpeed = 1e3;

/// What rows have in common whose kernels are the same on each GPU, if `gpus` divides the batch.
using SameKernels = std::tuple<std::string, std::int64_t, std::int64_t, std::string, std::string>;
SameKernels kernels_of(const IterationRow& row) {
  return {row.model, row.context, row.batch / row.gpus, row.dtype, row.optimizer};
}

/// The kernels' speed that makes a step take `seconds`: the time is nearly linear in its inverse.
///
/// @return  0 if there is none
double speed_for(const Cluster& cluster, const IterationRecord& step, double seconds) {
  const auto excess = [&](double slowness) {
    return iteration_time(cluster, step, 1 / slowness) / seconds - 1;
  };
  double low = 1 / kMostSpeed, high = 1 / kLeastSpeed;
  double below = excess(low), above = excess(high);
  if (below > 0 || above < 0) return 0;
  constexpr double kExact = 1e-7;
  constexpr int kMostTries = 100;
  double slowness = 1;
  for (int i = 0; i < kMostTries; ++i) {
    const double now = excess(slowness);
    if (std::fabs(now) < kExact) break;
    (now < 0 ? low : high) = slowness;
    (now < 0 ? below : above) = now;
    // Between the two, as on a line, but not so near to either that only one of them moves.
    const double part = std::clamp(-below / (above - below), 0.01, 0.99);
    slowness = low + part * (high - low);
  }
  return 1 / slowness;
}

std::map<SameKernels, double> given_speeds(const Cluster& cluster,
                                           const IterationTable& table,
                                           Records records,
                                           TimedRows& rows) {
  std::map<SameKernels, double> speeds;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const IterationRow& row = table.rows[i];
    if (row.gpus != 1) continue;
    const double speed = speed_for(cluster, records[i], row.seconds);
    if (speed == 0)
      refuse_cell(table,
                  row,
                  "measured_ms",
                  detail::concat(row.seconds * 1e3,
                                 " cannot be reached at any speed of the kernels between 1/1000 "
                                 "and 1000; is gpus.launch.host too long?"));
    if (!speeds.emplace(kernels_of(row), speed).second)
      refuse_cell(
          table,
          row,
          "gpus",
          "an earlier row is of one GPU and the same model, context and batch too; keep one "
          "of them");
    rows[i].is_given = true;
  }
  TANDEM_CHECK(!speeds.empty(),
               table.name,
               ": no row is of one GPU, whose time could be given; add some, or do not take it as "
               "given");
  return speeds;
}

void take_given(const Cluster& cluster,
                const IterationTable& table,
                Records records,
                TimedRows& rows) {
  const std::map<SameKernels, double> speeds = given_speeds(cluster, table, records, rows);
  bool has_others = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    has_others = has_others || !rows[i].is_given;
    const auto at = speeds.find(kernels_of(table.rows[i]));
    if (at == speeds.end() || table.rows[i].batch % table.rows[i].gpus != 0) continue;
    rows[i].kernel_speed = at->second;
    rows[i].predicted = iteration_time(cluster, records[i], at->second);
  }
  TANDEM_CHECK(has_others,
               table.name,
               ": all rows are of one GPU, so that nothing is left to predict if they are given");
}

/// The constant is that of the least squares of the relative errors.
void set_errors(Records records, IterationComparison& comparison) {
  double count = 0, sum = 0, squares = 0;
  const auto each = [&](const auto& f) {
    for (std::size_t i = 0; i < comparison.rows.size(); ++i)
      if (!comparison.rows[i].is_given)
        f(comparison.rows[i], records[i].flops() / comparison.rows[i].measured);
  };
  each([&](const TimedRow& row, double rate) {
    ++count;
    sum += rate;
    squares += rate * rate;
    comparison.error += std::fabs(row.error());
  });
  comparison.error /= count;
  comparison.null_speed = squares / sum;
  each([&](const TimedRow&, double rate) {
    comparison.null_error += std::fabs(rate / comparison.null_speed - 1) / count;
  });
}

}  // namespace

double IterationRecord::flops() const {
  std::map<Device, double> sums;
  for (const profile::WorkSpan& span : record.work)
    sums[span.device] += span.cost.flops;
  double most = 0;
  for (const Device device : devices)
    most = std::max(most, sums[device]);
  return most;
}

IterationComparison compare_iterations(const Cluster& cluster,
                                       const IterationTable& table,
                                       Records records,
                                       const CompareIterationsOptions& options) {
  TANDEM_CHECK(records.size() == table.rows.size(),
               "compare_iterations: ",
               records.size(),
               " records for the ",
               table.rows.size(),
               " rows of ",
               table.name,
               "; give one for each");
  IterationComparison comparison;
  for (std::size_t i = 0; i < records.size(); ++i)
    comparison.rows.push_back(
        {.measured = table.rows[i].seconds, .predicted = iteration_time(cluster, records[i])});
  check_unit(
      table.name, comparison.rows, cluster.name, "is measured_ms in milliseconds of one step?");
  if (options.given_single) take_given(cluster, table, records, comparison.rows);
  set_errors(records, comparison);
  return comparison;
}

}  // namespace tandem::sim
