// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/iteration_comparison.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "sim/fit/iterations.hpp"
#include "thrown_text.hpp"

namespace tandem::sim::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::HasSubstr;

TEST(IterationComparisonTest, ErrorsAreThoseComputedByHand) {
  const Cluster cluster = quick_machine();
  const std::vector<MadeStep> steps{{1, 2048, 0}, {2, 4096, 100 * kMega}};
  std::vector<double> measured;
  const IterationTable table = table_of(steps, [&](const MadeStep& step) {
    const double predicted = step.kernel_seconds(cluster) + step.collective_seconds(cluster);
    measured.push_back(predicted * (step.gpus == 1 ? 2 : 0.8));
    return measured.back();
  });
  const IterationComparison found = compare_iterations(cluster, table, records_of(steps));
  EXPECT_NEAR(found.rows.at(0).error(), -0.5, 1e-4);
  EXPECT_NEAR(found.rows.at(1).error(), 0.25, 1e-4);
  EXPECT_NEAR(found.error, 0.375, 1e-4);
  // One speed: the least squares of rate / speed - 1, over the rates of one GPU of each row.
  const double a = 2 * std::pow(2048.0, 3) / measured[0], b = 2 * std::pow(4096.0, 3) / measured[1];
  const double speed = (a * a + b * b) / (a + b);
  EXPECT_NEAR(found.null_speed / speed, 1, 1e-12);
  EXPECT_NEAR(found.null_error, (std::fabs(a / speed - 1) + std::fabs(b / speed - 1)) / 2, 1e-12);
  for (const auto& row : found.rows) {
    EXPECT_EQ(row.kernel_speed, 1);
    EXPECT_FALSE(row.is_given);
  }
}

TEST(IterationComparisonTest, GivenOneGpuTheRestIsPredicted) {
  const Cluster cluster = quick_machine();
  // Kernels take 3 times as long in one model, 0.4 times in another; the third has no row of one
  // GPU.
  const std::vector<MadeStep> steps{{2, 2048, 100 * kMega},
                                    {1, 2048, 0},
                                    {1, 4096, 0},
                                    {4, 4096, 200 * kMega},
                                    {2, 1024, 300 * kMega}};
  const auto slowness = [](const MadeStep& step) { return step.size == 2048 ? 3.0 : 0.4; };
  const IterationTable table = table_of(
      steps, [&](const MadeStep& step) { return step.kernel_seconds(cluster) * slowness(step); });
  const IterationComparison found =
      compare_iterations(cluster, table, records_of(steps), {.given_single = true});
  double sum = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& row = found.rows.at(i);
    EXPECT_EQ(row.is_given, steps[i].gpus == 1) << i;
    const double factor = steps[i].size == 1024 ? 1 : slowness(steps[i]);
    EXPECT_NEAR(row.kernel_speed * factor, 1, 1e-4) << i;
    const double expected =
        steps[i].kernel_seconds(cluster) * factor + steps[i].collective_seconds(cluster);
    EXPECT_NEAR(row.predicted / expected, 1, 1e-4) << i;
    if (!row.is_given) sum += std::fabs(row.error());
  }
  EXPECT_NEAR(found.error, sum / 3, 1e-12) << "given rows do not count";
}

TEST(IterationComparisonTest, RefusesTablesThatDoNotFit) {
  const Cluster cluster = quick_machine();
  const auto text = [&](const std::vector<MadeStep>& steps, double factor, bool given) {
    return thrown_text([&] {
      const IterationTable table = table_of(
          steps, [&](const MadeStep& step) { return step.kernel_seconds(cluster) * factor; });
      compare_iterations(cluster, table, records_of(steps), {.given_single = given});
    });
  };
  const MadeStep one{1, 2048, 0}, two{2, 2048, kMega};
  EXPECT_THAT(text({one, two}, 1000, false),
              HasSubstr("made.csv: all times are more than 50 times longer than a100-80x8 would "
                        "take; is measured_ms in milliseconds of one step?"));
  EXPECT_THAT(text({one, two}, 1e-3, false), HasSubstr("times shorter than"));
  EXPECT_THAT(text({two}, 1, true), HasSubstr("no row is of one GPU"));
  EXPECT_THAT(text({one}, 1, true), HasSubstr("all rows are of one GPU"));
  EXPECT_THAT(text({one, two, one}, 1, true),
              HasSubstr("made.csv, line 4, column gpus: an earlier row is of one GPU"));
  EXPECT_THAT(
      thrown_text([&] {
        compare_iterations(cluster, table_of({one, two}, [](const auto&) { return 1.0; }), {});
      }),
      HasSubstr("0 records for the 2 rows of made.csv"));
  Cluster slow = cluster;
  slow.gpus.launch.host = 1;
  EXPECT_THAT(thrown_text([&] {
                compare_iterations(slow,
                                   table_of({one, two}, [](const auto&) { return 0.1; }),
                                   records_of({one, two}),
                                   {.given_single = true});
              }),
              HasSubstr("line 2, column measured_ms: 100 cannot be reached"));
}

}  // namespace
}  // namespace tandem::sim::test
