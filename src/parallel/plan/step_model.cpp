// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/step_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/gpu/step_memory.hpp"

namespace tandem::parallel {
namespace {

constexpr std::int64_t kUnlimitedRows = std::numeric_limits<std::int64_t>::max();

template <std::size_t N>
using Row = std::array<double, N + 1>;  // coefficients, and the right-hand side

/// Solves N linear equations by elimination with pivots; none where they do not tell.
template <std::size_t N>
std::optional<std::array<double, N>> solve(std::array<Row<N>, N> m) {
  for (std::size_t c = 0; c < N; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < N; ++r)
      if (std::abs(m[r][c]) > std::abs(m[pivot][c])) pivot = r;
    if (std::abs(m[pivot][c]) < 1e-9) return std::nullopt;
    std::swap(m[c], m[pivot]);
    for (std::size_t r = 0; r < N; ++r) {
      const double factor = r == c ? 0 : m[r][c] / m[c][c];
      for (std::size_t k = c; k <= N; ++k)
        m[r][k] -= factor * m[c][k];
    }
  }
  std::array<double, N> x{};
  for (std::size_t r = 0; r < N; ++r)
    x[r] = m[r][N] / m[r][r];
  return x;
}

std::int64_t total(const std::vector<std::int64_t>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

/// The need of a device that had no rows, because it has no room for any.
std::optional<DeviceNeed> fit_full(std::size_t d,
                                   std::size_t limit,
                                   std::span<const StepProbe> probes) {
  std::array<Row<2>, 2> equations{};
  for (std::size_t i = 0; i < 2; ++i) {
    const StepProbe& p = probes[i];
    equations[i] = {1, static_cast<double>(total(p.rows)), static_cast<double>(p.peak_bytes[d])};
  }
  const auto x = solve<2>(equations);
  if (!x) return std::nullopt;
  return DeviceNeed{.device = {},
                    .fixed = (*x)[0],
                    .per_row = static_cast<double>(limit),
                    .per_batch_row = std::max((*x)[1], 0.0)};
}

/// Without the batch's rows where they are the device's, or do not count.
std::optional<DeviceNeed> fit_own(std::size_t d, std::span<const StepProbe> probes) {
  std::array<Row<2>, 2> equations{};
  for (std::size_t i = 0; i < 2; ++i) {
    const StepProbe& p = probes[i];
    equations[i] = {1, static_cast<double>(p.rows[d]), static_cast<double>(p.peak_bytes[d])};
  }
  const auto x = solve<2>(equations);
  if (!x) return std::nullopt;
  return DeviceNeed{.device = {}, .fixed = (*x)[0], .per_row = std::max((*x)[1], 0.0)};
}

std::optional<DeviceNeed> fit_both(std::size_t d, std::span<const StepProbe> probes) {
  std::array<Row<3>, 3> equations{};
  for (std::size_t i = 0; i < 3; ++i) {
    const StepProbe& p = probes[i];
    equations[i] = {1,
                    static_cast<double>(p.rows[d]),
                    static_cast<double>(total(p.rows)),
                    static_cast<double>(p.peak_bytes[d])};
  }
  const auto x = solve<3>(equations);
  if (!x) return std::nullopt;
  // Rows cannot give memory back: then it is noise, and the other slope has it.
  if ((*x)[1] < 0 || (*x)[2] < 0) return fit_own(d, probes);
  return DeviceNeed{.device = {}, .fixed = (*x)[0], .per_row = (*x)[1], .per_batch_row = (*x)[2]};
}

std::optional<DeviceNeed> fit_need(std::size_t d,
                                   std::size_t limit,
                                   std::span<const StepProbe> probes) {
  if (std::ranges::all_of(probes, [&](const StepProbe& p) { return p.rows[d] == 0; }))
    return fit_full(d, limit, probes);
  if (std::ranges::all_of(probes, [&](const StepProbe& p) { return p.rows[d] == total(p.rows); }))
    return fit_own(d, probes);
  return fit_both(d, probes);
}

/// A point of a line: rows, ms.
using Point = std::pair<double, double>;

/// The line nearest to the points, in which neither part is negative: fixed and slope.
std::pair<double, double> nearest_line(const std::vector<Point>& points) {
  const auto n = static_cast<double>(points.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [rows, ms] : points) {
    x += rows / n;
    y += ms / n;
    xx += rows * rows / n;
    xy += rows * ms / n;
  }
  const double variance = xx - x * x;
  const double slope = variance > 1e-9 ? std::max((xy - x * y) / variance, 0.0) : 0;
  if (y - slope * x >= 0 && slope > 0) return {y - slope * x, slope};
  return {0, xy / xx};  // through nothing: noise, or rows that were all the same
}

/// Says why the rows do not fit.
void refuse(const StepModel& model, std::int64_t batch_rows) {
  const std::int64_t most = model.largest_batch();
  TANDEM_CHECK(most <= 0,
               "step model: a batch of ",
               batch_rows,
               " rows does not fit the devices' limits, however it is cut; the largest batch that "
               "fits has ",
               most,
               " rows");
  const std::int64_t least = most + 1;  // rows, which do not fit
  const auto lack = [least](const DeviceNeed& need) {
    return need.peak(least, least) - static_cast<double>(need.limit);
  };
  const DeviceNeed& full = *std::ranges::max_element(model.needs(), {}, lack);
  TANDEM_CHECK(false,
               "step model: no batch fits the devices' limits: ",
               full.device,
               " may have ",
               format_nbytes(full.limit),
               ", and a step ",
               least == 0 ? "without rows" : "of one row",
               " needs about ",
               format_nbytes(static_cast<std::size_t>(full.peak(least, least))),
               " there; give the devices more memory, train a smaller model, or take the mode "
               "sharded, which divides the optimizer's state");
}

}  // namespace

double StepPlan::imbalance() const {
  if (peak_bytes.size() < 2) return 1;
  const double others = std::accumulate(peak_bytes.begin() + 1, peak_bytes.end(), 0.0);
  return static_cast<double>(peak_bytes[0]) * static_cast<double>(peak_bytes.size() - 1) / others;
}

StepModel StepModel::fit(std::span<const Device> devices, std::span<const StepProbe> probes) {
  const std::size_t least = devices.size() > 1 ? 3 : 2;
  TANDEM_CHECK(probes.size() >= least,
               "step model: ",
               probes.size(),
               " probes are too few for ",
               devices.size(),
               " devices; give at least ",
               least);
  std::vector<DeviceNeed> needs;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const std::size_t limit = most_of_step(logical_device(devices[d]));
    auto need = fit_need(d, limit, probes);
    TANDEM_CHECK(need.has_value(),
                 "step model: the probes do not separate what ",
                 devices[d],
                 " needs for its own rows from what it needs for the whole batch; probe other "
                 "numbers of rows");
    need->device = devices[d];
    need->limit = limit;
    needs.push_back(*need);
  }
  StepModel model(std::move(needs));
  model.fit_times(probes);
  return model;
}

void StepModel::fit_times(std::span<const StepProbe> probes) {
  for (std::size_t d = 0; d < needs_.size(); ++d) {
    std::vector<Point> points;
    for (const StepProbe& p : probes)
      if (!p.ms.empty() && p.rows[d] > 0)
        points.emplace_back(static_cast<double>(p.rows[d]), p.ms[d]);
    if (!points.empty()) std::tie(needs_[d].fixed_ms, needs_[d].ms_per_row) = nearest_line(points);
  }
}

StepPlan StepModel::predict(std::vector<std::int64_t> rows) const {
  TANDEM_CHECK(rows.size() == needs_.size(),
               "step model: ",
               rows.size(),
               " chunk sizes for ",
               needs_.size(),
               " devices; give one for each");
  StepPlan plan{.rows = std::move(rows), .peak_bytes = {}, .ms = {}};
  for (std::size_t d = 0; d < needs_.size(); ++d) {
    const double peak = needs_[d].peak(plan.rows[d], total(plan.rows));
    plan.peak_bytes.push_back(static_cast<std::size_t>(std::max(std::ceil(peak), 0.0)));
    plan.ms.push_back(needs_[d].ms(plan.rows[d]));
  }
  return plan;
}

std::int64_t StepModel::capacity(const DeviceNeed& need, std::int64_t batch_rows) const {
  if (need.limit == SIZE_MAX) return kUnlimitedRows;
  const double left = static_cast<double>(need.limit) - need.peak(0, batch_rows);
  if (left < 0) return -1;
  if (need.per_row <= 0 || left / need.per_row >= 1e18) return kUnlimitedRows;
  return static_cast<std::int64_t>(left / need.per_row);
}

bool StepModel::fits(std::int64_t batch_rows) const {
  std::int64_t left = batch_rows;
  for (const DeviceNeed& need : needs_) {
    const std::int64_t most = capacity(need, batch_rows);
    if (most < 0) return false;
    left -= std::min(most, left);
  }
  return left == 0;
}

std::int64_t StepModel::largest_batch() const {
  if (!fits(0)) return -1;
  std::int64_t fitting = 0, too_many = 1;
  for (; fits(too_many); too_many *= 2) {
    fitting = too_many;
    if (too_many > kUnlimitedRows / 4) return kUnlimitedRows;
  }
  while (too_many - fitting > 1) {
    const std::int64_t middle = fitting + (too_many - fitting) / 2;
    (fits(middle) ? fitting : too_many) = middle;
  }
  return fitting;
}

// Row by row to the device whose peak, or time, is then the least: no other way has a lower largest
// one, since neither falls with a device's rows. What is equally fast goes by the peak; what has
// the same peak does not go by the time, which is another in each run.
StepPlan StepModel::plan(std::int64_t batch_rows, PlanGoal goal) const {
  TANDEM_CHECK(
      batch_rows >= 0, "step model: the batch has ", batch_rows, " rows; expected 0 or more");
  if (!fits(batch_rows)) refuse(*this, batch_rows);
  std::vector<std::int64_t> rows(needs_.size()), most;
  for (const DeviceNeed& need : needs_)
    most.push_back(capacity(need, batch_rows));
  for (std::int64_t i = 0; i < batch_rows; ++i) {
    std::size_t best = needs_.size();
    for (std::size_t d = 0; d < needs_.size(); ++d) {
      if (rows[d] == most[d]) continue;
      const auto cost = [&](std::size_t k) {
        const double peak = needs_[k].peak(rows[k] + 1, batch_rows), ms = needs_[k].ms(rows[k] + 1);
        return goal == PlanGoal::least_peak ? std::pair(peak, 0.0) : std::pair(ms, peak);
      };
      if (best == needs_.size() || cost(d) < cost(best)) best = d;
    }
    ++rows[best];
  }
  return predict(std::move(rows));
}

}  // namespace tandem::parallel
