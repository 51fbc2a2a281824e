// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Plans against all cuts there are.

#include "tandem/parallel/step_model.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include <gmock/gmock.h>

#include "tandem/runtime/runtime.hpp"

#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;
using Rows = std::vector<std::int64_t>;

/// Calls f(rows) for every cut of a batch among n devices.
void for_each_cut(std::int64_t batch, std::size_t n, const std::function<void(const Rows&)>& f) {
  Rows rows;
  const std::function<void(std::int64_t)> cut = [&](std::int64_t left) {
    if (rows.size() + 1 == n) {
      rows.push_back(left);
      f(rows);
      rows.pop_back();
      return;
    }
    for (std::int64_t r = 0; r <= left; ++r) {
      rows.push_back(r);
      cut(left - r);
      rows.pop_back();
    }
  };
  cut(batch);
}

/// The least largest `cost(need, rows)` of all cuts that keep to the limits; negative: there is
/// none.
double best_of(const std::vector<DeviceNeed>& needs,
               std::int64_t batch,
               const std::function<double(const DeviceNeed&, std::int64_t)>& cost) {
  double best = -1;
  for_each_cut(batch, needs.size(), [&](const Rows& rows) {
    double most = 0;
    for (std::size_t d = 0; d < needs.size(); ++d) {
      const double peak = needs[d].peak(rows[d], batch);
      if (needs[d].limit != SIZE_MAX && peak > static_cast<double>(needs[d].limit)) return;
      most = std::max(most, cost(needs[d], rows[d]));
    }
    if (best < 0 || most < best) best = most;
  });
  return best;
}

double best_peak(const std::vector<DeviceNeed>& needs, std::int64_t batch) {
  return best_of(needs, batch, [batch](const DeviceNeed& need, std::int64_t rows) {
    return need.peak(rows, batch);
  });
}

double best_time(const std::vector<DeviceNeed>& needs, std::int64_t batch) {
  return best_of(needs, batch, [](const DeviceNeed& need, std::int64_t rows) {
    return rows > 0 ? need.fixed_ms + need.ms_per_row * static_cast<double>(rows) : 0;
  });
}

std::vector<DeviceNeed> random_needs(std::mt19937& random) {
  const auto any = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  std::vector<DeviceNeed> needs;
  for (int d = any(1, 4); d > 0; --d) {
    DeviceNeed need{.device = {},
                    .fixed = static_cast<double>(any(0, 200)),
                    .per_row = static_cast<double>(any(0, 30)),
                    .per_batch_row = static_cast<double>(any(0, 2) * any(0, 5))};
    need.fixed_ms = any(0, 20);
    need.ms_per_row = any(0, 9);
    if (any(0, 2) == 0) need.limit = static_cast<std::size_t>(any(50, 500));
    needs.push_back(need);
  }
  return needs;
}

TEST(StepModelTest, PlansAreAsGoodAsTheBestOfAllCuts) {
  int some = 0, none = 0;  // models that refuse the batch, but no smaller one, and that refuse any
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const StepModel model(random_needs(random));
    const auto batch = static_cast<std::int64_t>(random() % 13);
    const double best = best_peak(model.needs(), batch);
    if (best < 0) {
      EXPECT_LT(model.largest_batch(), batch);
      const std::int64_t most = model.largest_batch();
      (most > 0 ? some : none) += 1;
      EXPECT_THAT(
          thrown_text([&] { model.plan(batch); }),
          HasSubstr(most > 0 ? "the largest batch that fits has " + std::to_string(most) + " rows"
                    : most == 0 ? "no batch fits the devices' limits: cpu:"
                                : "a step without rows needs about "));
      continue;
    }
    const StepPlan plan = model.plan(batch);
    EXPECT_EQ(std::accumulate(plan.rows.begin(), plan.rows.end(), std::int64_t{0}), batch);
    EXPECT_EQ(*std::ranges::max_element(plan.peak_bytes),
              static_cast<std::size_t>(std::ceil(best)));
    EXPECT_GE(model.largest_batch(), batch);
  }
  EXPECT_GT(std::min(some, none), 10) << "or limits were not tried";
}

TEST(StepModelTest, PlansForTimeAreAsFastAsTheBestOfAllCuts) {
  int other_rows = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const StepModel model(random_needs(random));
    const auto batch = static_cast<std::int64_t>(random() % 13);
    const double best = best_time(model.needs(), batch);
    if (best < 0) {
      EXPECT_THROW(model.plan(batch, PlanGoal::least_time), InvalidArgument);
      continue;
    }
    const StepPlan plan = model.plan(batch, PlanGoal::least_time);
    EXPECT_EQ(std::accumulate(plan.rows.begin(), plan.rows.end(), std::int64_t{0}), batch);
    EXPECT_DOUBLE_EQ(*std::ranges::max_element(plan.ms), best);
    for (std::size_t d = 0; d < model.needs().size(); ++d)
      EXPECT_LE(plan.peak_bytes[d], model.needs()[d].limit);
    if (plan.rows != model.plan(batch).rows) ++other_rows;
  }
  EXPECT_GT(other_rows, 100) << "or time does not count";
}

TEST(StepModelTest, TimesAreTheLineThatProbesAreNearestTo) {
  const std::vector<Device> devices = testing::devices(2);
  const auto probe = [](Rows rows, std::vector<double> ms) {
    return StepProbe{std::move(rows), {0, 0}, std::move(ms)};
  };
  StepModel model({{.device = devices[0]}, {.device = devices[1]}});
  model.fit_times(std::vector{probe({10, 10}, {5, 4}), probe({20, 0}, {7, 0})});
  EXPECT_DOUBLE_EQ(model.needs()[0].fixed_ms, 3);
  EXPECT_DOUBLE_EQ(model.needs()[0].ms_per_row, 0.2);
  EXPECT_DOUBLE_EQ(model.needs()[1].fixed_ms, 0);
  EXPECT_DOUBLE_EQ(model.needs()[1].ms_per_row, 0.4) << "one point: a line through nothing";
  model.fit_times(std::vector{probe({10, 10}, {5, 4}), probe({20, 20}, {4, 12})});
  EXPECT_GE(model.needs()[0].ms_per_row, 0) << "more rows do not take less time";
  EXPECT_GE(model.needs()[1].fixed_ms, 0);
  model.fit_times(std::vector{StepProbe{{3, 4}, {0, 0}, {}}});
  EXPECT_DOUBLE_EQ(model.predict({5, 0}).ms[1], 0) << "no rows, no time";
}

TEST(StepModelTest, TheLargestBatchIsTheLastThatFits) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const StepModel model(random_needs(random));
    const std::int64_t largest = model.largest_batch();
    if (largest > 25) continue;
    if (largest >= 0) {
      EXPECT_GE(best_peak(model.needs(), largest), 0);
    }
    EXPECT_LT(best_peak(model.needs(), largest + 1), 0);
  }
}

TEST(StepModelTest, FitFindsTheLinesThatTheProbesAreOn) {
  const std::vector<Device> devices = testing::devices(3);
  const StepModel truth(
      {{devices[0], 5000, 120, 16}, {devices[1], 3000, 120, 0}, {devices[2], 3000, 90, 0}});
  std::vector<StepProbe> probes;
  for (const Rows& rows : {Rows{4, 4, 4}, Rows{8, 8, 8}, Rows{4, 8, 8}})
    probes.push_back({rows, truth.predict(rows).peak_bytes});
  logical_device(devices[1]).set_limit(12'345);
  const StepModel model = StepModel::fit(devices, probes);
  logical_device(devices[1]).set_limit(SIZE_MAX);
  for (std::size_t d = 0; d < 3; ++d) {
    EXPECT_EQ(model.needs()[d].device, devices[d]);
    EXPECT_NEAR(model.needs()[d].fixed, truth.needs()[d].fixed, 1e-6);
    EXPECT_NEAR(model.needs()[d].per_row, truth.needs()[d].per_row, 1e-6);
    EXPECT_NEAR(model.needs()[d].per_batch_row, truth.needs()[d].per_batch_row, 1e-6);
  }
  EXPECT_EQ(model.needs()[1].limit, 12'345U);
  EXPECT_EQ(model.needs()[2].limit, SIZE_MAX);
  EXPECT_EQ(model.predict({100, 0, 7}).peak_bytes, truth.predict({100, 0, 7}).peak_bytes);
}

TEST(StepModelTest, ProbesThatDoNotTellAreRefused) {
  const std::vector<Device> devices = testing::devices(2);
  const std::vector<std::size_t> peaks{100, 100};
  const std::vector<StepProbe> alike{{{4, 4}, peaks}, {{8, 8}, peaks}, {{16, 16}, peaks}};
  EXPECT_THAT(thrown_text([&] { StepModel::fit(devices, alike); }),
              AllOf(HasSubstr("do not separate"), HasSubstr(to_string(devices[0]))));
  EXPECT_THAT(thrown_text([&] { StepModel::fit(devices, std::span(alike).first(2)); }),
              HasSubstr("2 probes are too few for 2 devices; give at least 3"));
  EXPECT_THAT(thrown_text([] {
                StepModel(std::vector<DeviceNeed>(1)).predict({1, 2});
              }),
              HasSubstr("2 chunk sizes for 1 devices"));
}

}  // namespace
}  // namespace tandem::parallel
