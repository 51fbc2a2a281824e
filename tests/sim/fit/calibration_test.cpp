// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/calibration.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/sim/collective_model.hpp"
#include "tandem/sim/presets.hpp"

#include "thrown_text.hpp"

namespace tandem::sim {
namespace {

using ::testing::HasSubstr;
using testing::thrown_text;

constexpr std::size_t kMega = 1'000'000;

/// Times in seconds of a ring of n GPUs that send 300 GB/s each at most, written out here.
double ring_seconds(const RingConstants& c, int n, double nbytes) {
  return c.alpha0 + c.alpha1 * (n - 1) +
         nbytes * (2.0 * (n - 1) + c.kappa) / (n * c.efficiency * 300e9) +
         c.gamma * std::sqrt(nbytes * 2 * (n - 1) / n);
}

template <class Seconds>
TimingTable table_of(int n, const Seconds& seconds) {
  TimingTable table{.name = "made_n" + std::to_string(n) + ".csv", .gpus = n};
  for (std::size_t i = 1; i <= 100; ++i) {
    const double t = seconds(n, static_cast<double>(i * kMega));
    table.rows.push_back({.nbytes = i * kMega, .seconds = t, .in_place_seconds = t});
  }
  return table;
}

TimingTable measured(const std::string& gpu, int n) {
  return read_timing_table(std::string(TANDEM_SIM_MEASURED) + "/allreduce_" + gpu + "_n" +
                           std::to_string(n) + ".csv");
}

const FittedConstant& constant(const Calibration& calibration, const std::string& name) {
  for (const FittedConstant& c : calibration.constants)
    if (c.path == "collectives." + name) return c;
  throw InvalidArgument("there is no constant " + name);
}

TEST(CalibrationTest, FindsTheConstantsThatTimesWereMadeOf) {
  const RingConstants made{
      .alpha0 = 12e-6, .alpha1 = 3e-6, .efficiency = 0.7, .kappa = 0.6, .gamma = 4e-9};
  std::vector<TimingTable> tables;
  for (const int n : {2, 5, 8})
    tables.push_back(table_of(n, [&](int g, double s) { return ring_seconds(made, g, s); }));
  const Calibration found = calibrate_all_reduce(tables, preset("a100-80x8"));
  const RingConstants& ring = found.cluster.collectives.ring;
  EXPECT_NEAR(ring.alpha0, made.alpha0, 1e-9);
  EXPECT_NEAR(ring.alpha1, made.alpha1, 1e-9);
  EXPECT_NEAR(ring.efficiency, made.efficiency, 1e-4);
  EXPECT_NEAR(ring.kappa, made.kappa, 1e-3);
  EXPECT_NEAR(ring.gamma, made.gamma, 1e-11);
  for (const FittedConstant& c : found.constants)
    EXPECT_EQ(c.place, FitPlace::inside) << c.path;
  for (const TableError& e : found.tables)
    EXPECT_LT(e.error.all, 1e-3);
  // A number of GPUs that was not given is met as well.
  EXPECT_NEAR(CollectiveModel(found.cluster, 4)
                      .time(comm::Collective::Kind::all_reduce, 10 * kMega)
                      .seconds /
                  ring_seconds(made, 4, 10.0 * kMega),
              1,
              1e-3);
}

TEST(CalibrationTest, SaysWhichConstantsAreAtTheirBounds) {
  // 330 GB/s is more than the links carry, and a time falls with the number of GPUs.
  const auto impossible = [](int n, double s) {
    return 50e-6 - 2e-6 * n + s / 330e9 * 2 * (n - 1) / n;
  };
  const Calibration found =
      calibrate_all_reduce({table_of(2, impossible), table_of(8, impossible)}, preset("a100-80x8"));
  EXPECT_EQ(constant(found, "ring.efficiency").place, FitPlace::at_upper);
  EXPECT_EQ(constant(found, "ring.efficiency").value, "1");
  EXPECT_EQ(constant(found, "ring.alpha1").place, FitPlace::at_lower);
  EXPECT_EQ(constant(found, "ring.alpha1").value, "0 us");
  EXPECT_EQ(constant(found, "ring.alpha1").upper, "100 us");
  EXPECT_EQ(constant(found, "ring.alpha0").place, FitPlace::inside);
  // Bytes that do not become fewer for each of more GPUs: kappa at its upper bound.
  const auto thick = [](int n, double s) { return 20e-6 + s / 250e9 * (2.0 * (n - 1) + 3) / n; };
  const Calibration other =
      calibrate_all_reduce({table_of(2, thick), table_of(8, thick)}, preset("a100-80x8"));
  EXPECT_EQ(constant(other, "ring.kappa").place, FitPlace::at_upper);
  EXPECT_EQ(other.cluster.collectives.ring.kappa, 2);
}

TEST(CalibrationTest, HoldsWhatOneNumberOfGpusDoesNotTell) {
  const Cluster before = preset("a100-80x8");
  const Calibration found = calibrate_all_reduce({measured("a100", 8)}, before);
  EXPECT_EQ(constant(found, "ring.alpha1").place, FitPlace::held);
  EXPECT_EQ(constant(found, "ring.kappa").place, FitPlace::held);
  EXPECT_EQ(found.cluster.collectives.ring.alpha1, before.collectives.ring.alpha1);
  EXPECT_EQ(found.cluster.collectives.ring.kappa, before.collectives.ring.kappa);
  EXPECT_LT(found.tables.at(0).error.all, 0.05);
}

TEST(CalibrationTest, FitsTheSwitchWhereItReduces) {
  const auto nvls = [](int n, double s) {
    const double moved = s * (1 + 1.0 / n);
    return 30e-6 + moved / 200e9 + 3e-9 * std::sqrt(moved);
  };
  Cluster before = preset("h200x8");
  const Calibration found = calibrate_all_reduce({table_of(6, nvls), table_of(8, nvls)}, before);
  EXPECT_NEAR(found.cluster.collectives.nvls->alpha, 30e-6, 1e-9);
  EXPECT_NEAR(found.cluster.collectives.nvls->bandwidth, 200e9, 1e7);
  EXPECT_NEAR(found.cluster.collectives.nvls->gamma, 3e-9, 1e-11);
  EXPECT_EQ(found.cluster.collectives.ring.alpha0, before.collectives.ring.alpha0);
  EXPECT_EQ(found.constants.size(), 3);
}

// How near is said in docs/measurements/simulation.md; here, that the fit is of use for a table
// that it has not seen.
TEST(CalibrationTest, TablesOfTwoAndEightGpusForetellThoseOfFour) {
  for (const auto& [gpu, name] : {std::pair{"a100", "a100-80x8"}, {"v100", "v100-16x8"}}) {
    const Calibration found =
        calibrate_all_reduce({measured(gpu, 2), measured(gpu, 8)}, preset(name));
    const AllReduceComparison four = compare_all_reduce(found.cluster, measured(gpu, 4));
    EXPECT_EQ(four.rows.size(), 1024);
    EXPECT_LT(four.error.all, 0.1) << gpu;
    EXPECT_LT(compare_all_reduce(preset(name), measured(gpu, 4)).error.all, 0.1) << gpu;
  }
}

TEST(CalibrationTest, WritesDownWhereConstantsComeFrom) {
  const Calibration found =
      calibrate_all_reduce({measured("v100", 2), measured("v100", 8)}, preset("h100x8"));
  EXPECT_THAT(found.cluster.sources.at("collectives.ring"), HasSubstr("allreduce_v100_n2.csv"));
  EXPECT_THAT(found.cluster.sources.at("collectives.nvls"), HasSubstr("allreduce_v100_n8.csv"));
  EXPECT_FALSE(found.cluster.sources.contains("collectives.ring.efficiency"));
  EXPECT_TRUE(figures_without_source(found.cluster).empty());
  const Cluster again = parse_cluster(to_json(found.cluster));
  EXPECT_NEAR(again.collectives.ring.alpha0, found.cluster.collectives.ring.alpha0, 1e-15);
}

TEST(CalibrationTest, RefusesTablesOfOtherMachinesAndUnits) {
  const Cluster c = preset("a100-80x8");
  EXPECT_THAT(thrown_text([&] { calibrate_all_reduce({}, c); }), HasSubstr("there is no table"));
  EXPECT_THAT(thrown_text([&] { calibrate_all_reduce({measured("a100", 8)}, preset("t4x4")); }),
              HasSubstr("times of 8 GPUs; a node of t4x4 has 4"));
  TimingTable microseconds = measured("a100", 4);
  for (TimingRow& row : microseconds.rows)
    row.seconds *= 1e-3;
  EXPECT_THAT(thrown_text([&] { calibrate_all_reduce({microseconds}, c); }),
              HasSubstr("shorter than a100-80x8's links would take; are they in nanoseconds?"));
  for (TimingRow& row : microseconds.rows)
    row.seconds *= 1e6;
  EXPECT_THAT(thrown_text([&] { compare_all_reduce(c, microseconds); }), HasSubstr("longer than"));
}

TEST(AllReduceComparisonTest, ErrorsAreThoseComputedByHand) {
  Cluster c = preset("a100-80x8");
  c.collectives.ring = {.efficiency = 1};  // 300 GB/s and nothing else; 2 GPUs: one byte for each
  const TimingTable table{.name = "hand_n2.csv",
                          .gpus = 2,
                          .rows = {{.nbytes = 1 << 20, .seconds = (1 << 20) / 300e9 * 2},
                                   {.nbytes = 1 << 22, .seconds = (1 << 22) / 300e9 * 10},
                                   {.nbytes = 3'000'000, .seconds = 3e6 / 300e9 / 1.25}}};
  const AllReduceComparison found = compare_all_reduce(c, table);
  EXPECT_DOUBLE_EQ(found.rows.at(2).predicted, 1e-5);
  EXPECT_STREQ(found.rows.at(2).algorithm, "ring");
  EXPECT_NEAR(found.error.all, (0.5 + 0.9 + 0.25) / 3, 1e-12);
  EXPECT_NEAR(found.error.powers_of_two, (0.5 + 0.9) / 2, 1e-12);
  // Rates of 150, 30 and 375 GB/s: the least squares of r / b - 1.
  const double b = (150 * 150 + 30 * 30 + 375 * 375) / 555.0;
  EXPECT_NEAR(found.null_bandwidth, 1e9 * b, 1);
  EXPECT_NEAR(found.null_error.all, ((1 - 150 / b) + (1 - 30 / b) + (375 / b - 1)) / 3, 1e-9);
}

}  // namespace
}  // namespace tandem::sim
