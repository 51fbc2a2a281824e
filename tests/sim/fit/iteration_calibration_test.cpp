// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/iteration_calibration.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "sim/fit/iterations.hpp"

namespace tandem::sim::test {
namespace {

/// The machine whose times a table has.
Cluster made_machine(double matmul, double ring) {
  Cluster cluster = quick_machine();
  cluster.gpus.efficiency.matmul = matmul;
  cluster.collectives.ring.efficiency = ring;
  return cluster;
}

IterationTable made_table(const std::vector<MadeStep>& steps, const Cluster& cluster) {
  return table_of(steps, [&](const MadeStep& step) {
    return step.kernel_seconds(cluster) + step.collective_seconds(cluster);
  });
}

const std::vector<MadeStep> kSteps{
    {1, 2048, 0}, {2, 2048, 100 * kMega}, {4, 4096, 500 * kMega}, {8, 1024, 50 * kMega}};

TEST(IterationCalibrationTest, FindsTheConstantsThatTimesWereMadeOf) {
  for (const auto& [matmul, ring] : {std::pair{0.31, 0.62}, {0.97, 0.11}, {0.08, 0.99}}) {
    const IterationTable table = made_table(kSteps, made_machine(matmul, ring));
    const IterationCalibration found =
        calibrate_iterations(quick_machine(), table, records_of(kSteps));
    EXPECT_NEAR(found.cluster.gpus.efficiency.matmul, matmul, 2e-4);
    EXPECT_NEAR(found.cluster.collectives.ring.efficiency, ring, 2e-4);
    EXPECT_LT(found.comparison.error, 1e-4);
    ASSERT_EQ(found.constants.size(), 2);
    EXPECT_EQ(found.constants[0].path, "gpus.efficiency.matmul");
    EXPECT_EQ(found.constants[1].path, "collectives.ring.efficiency");
    for (const FittedConstant& constant : found.constants) {
      EXPECT_EQ(constant.place, FitPlace::inside);
      EXPECT_EQ(constant.lower, "0.05");
      EXPECT_EQ(constant.upper, "1");
      EXPECT_EQ(found.cluster.sources.at(constant.path),
                "tandem cluster calibrate --iterations made.csv");
    }
  }
}

TEST(IterationCalibrationTest, SquaresOfRelativeErrorsAreLeast) {
  // Two steps that are alike but for their times: no constants meet both. Of a / x and b / x the
  // least squares from 1 are at x = (a^2 + b^2) / (a + b), in times of the steps.
  const std::vector<MadeStep> steps{{1, 2048, 0}, {1, 2048, 0}};
  const Cluster made = made_machine(0.5, 0.5);
  const double seconds = steps[0].kernel_seconds(made);
  IterationTable table = table_of(steps, [&](const MadeStep&) { return seconds; });
  table.rows[1].seconds *= 2;
  const IterationCalibration found =
      calibrate_iterations(quick_machine(), table, records_of(steps));
  const double a = 1 / seconds, b = 0.5 / seconds;
  const double best = (a + b) / (a * a + b * b);
  EXPECT_NEAR(found.comparison.rows.at(0).predicted / best, 1, 1e-3);
}

TEST(IterationCalibrationTest, ConstantsStayWithinWhatIsPossible) {
  Cluster impossible = made_machine(0.5, 0.5);
  impossible.gpus.peak.f32 *= 4;  // products at twice the peak
  impossible.collectives.ring.efficiency = 1;
  impossible.nvlink->bandwidth *= 2;
  const IterationCalibration found =
      calibrate_iterations(quick_machine(), made_table(kSteps, impossible), records_of(kSteps));
  EXPECT_EQ(found.cluster.gpus.efficiency.matmul, 1);
  EXPECT_EQ(found.cluster.collectives.ring.efficiency, 1);
  for (const FittedConstant& constant : found.constants)
    EXPECT_EQ(constant.place, FitPlace::at_upper) << constant.path;
}

TEST(IterationCalibrationTest, FitsAndHoldsOnlyWhatRowsTell) {
  const std::vector<MadeStep> single{{1, 2048, 0}, {1, 4096, 0}};
  const Cluster before = quick_machine();
  const IterationTable table = made_table(single, made_machine(0.4, 0.3));
  const IterationCalibration found = calibrate_iterations(before, table, records_of(single));
  ASSERT_EQ(found.constants.size(), 1);
  EXPECT_NEAR(found.cluster.gpus.efficiency.matmul, 0.4, 1e-4);
  EXPECT_EQ(found.cluster.collectives.ring.efficiency, before.collectives.ring.efficiency);

  const IterationCalibration known = calibrate_iterations(
      before, made_table(kSteps, before), records_of(kSteps), {.fits_ring = false});
  EXPECT_EQ(known.constants.size(), 1);
  EXPECT_EQ(known.cluster.collectives.ring.efficiency, before.collectives.ring.efficiency);

  const std::vector<MadeStep> one{{2, 2048, 100 * kMega}};
  const IterationCalibration alone =
      calibrate_iterations(before, made_table(one, made_machine(0.4, 0.8)), records_of(one));
  EXPECT_EQ(alone.constants.at(0).place, FitPlace::inside);
  EXPECT_EQ(alone.constants.at(1).place, FitPlace::held);
  EXPECT_LT(alone.comparison.error, 1e-4);

  const std::vector<MadeStep> silent{{2, 2048, 0}, {2, 4096, 0}};  // nothing is exchanged
  const IterationCalibration held =
      calibrate_iterations(before, made_table(silent, made_machine(0.4, 0.3)), records_of(silent));
  EXPECT_EQ(held.constants.at(1).place, FitPlace::held);
  EXPECT_EQ(held.cluster.collectives.ring.efficiency, before.collectives.ring.efficiency);
  EXPECT_EQ(held.cluster.sources.at("collectives.ring"), before.sources.at("collectives.ring"));
}

}  // namespace
}  // namespace tandem::sim::test
