// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/collective_model.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/sim/presets.hpp"

#include "thrown_text.hpp"

namespace tandem::sim {
namespace {

using ::testing::HasSubstr;
using testing::thrown_text;
using Kind = comm::Collective::Kind;

constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kGiB = 1 << 30;

double seconds(const Cluster& c, int n, std::size_t nbytes, Kind kind = Kind::all_reduce) {
  return CollectiveModel(c, n).time(kind, nbytes).seconds;
}

std::string algorithm(const Cluster& c, int n, std::size_t nbytes, Kind kind = Kind::all_reduce) {
  return CollectiveModel(c, n).time(kind, nbytes).algorithm;
}

/// GB/s as nccl-tests has it.
double bus_bandwidth(const Cluster& c, int n, std::size_t nbytes) {
  return 2.0 * (n - 1) / n * static_cast<double>(nbytes) / seconds(c, n, nbytes) * 1e-9;
}

/// A machine whose constants are simple numbers, to compute by hand: 4 GPUs of 100 GB/s.
Cluster plain() {
  Cluster c = preset("a100-80x8");
  c.gpus.count = 4;
  c.pcie = {.bandwidth = 10e9};
  c.host.bandwidth = 10e9;
  c.nvlink = NvLinks{.links_per_gpu = 4, .bandwidth = 25e9};
  c.collectives.ring = {
      .alpha0 = 10e-6, .alpha1 = 2e-6, .efficiency = 0.5, .kappa = 1, .gamma = 1e-9};
  return c;
}

TEST(CollectiveModelTest, ARingsTimeIsThatOfTheFormula) {
  const double s = 1e6;
  const auto n = static_cast<std::size_t>(s);
  // 10 + 2 x 3 us, 7/4 MB at 50 GB/s = 35 us, 1 ns x sqrt(1.5e6) = 1.2247 us
  EXPECT_NEAR(seconds(plain(), 4, n), 52.2247e-6, 1e-10);
  // Half of the steps and of the bytes: 10 + 3, 0.875 MB = 17.5 us, sqrt(0.75e6) = 0.8660 us
  EXPECT_NEAR(seconds(plain(), 4, n, Kind::reduce_scatter), 31.3660e-6, 1e-10);
  EXPECT_NEAR(seconds(plain(), 4, n, Kind::all_gather), 31.3660e-6, 1e-10);
  // 10 + 3, 1 MB = 20 us, 1 us
  EXPECT_NEAR(seconds(plain(), 4, n, Kind::broadcast), 34e-6, 1e-10);
  EXPECT_NEAR(seconds(plain(), 4, n, Kind::reduce), 34e-6, 1e-10);
}

TEST(CollectiveModelTest, InsideTheSwitchItIsThatOfNvls) {
  Cluster c = plain();
  c.collectives.nvls =
      NvlsConstants{.alpha = 5e-6, .bandwidth = 50e9, .gamma = 2e-9, .least_gpus = 3};
  // 5 us, 1.25 MB at 50 GB/s = 25 us, 2 ns x sqrt(1.25e6) = 2.2361 us
  EXPECT_NEAR(seconds(c, 4, 1'000'000), 32.2361e-6, 1e-10);
  EXPECT_EQ(algorithm(c, 4, 1'000'000), "nvls");
  EXPECT_EQ(algorithm(c, 2, 1'000'000), "ring");  // fewer than least_gpus
  EXPECT_EQ(algorithm(c, 4, 1'000'000, Kind::all_gather), "ring");
  c.collectives.nvls->bandwidth = 30e9;
  EXPECT_EQ(algorithm(c, 4, 100'000'000), "ring");  // whichever takes less time
}

TEST(CollectiveModelTest, OneGpuNeedsNoTime) {
  EXPECT_EQ(seconds(preset("a100-80x8"), 1, kGiB), 0);
  EXPECT_EQ(algorithm(preset("a100-80x8"), 1, kGiB), "none");
}

// Measured bus bandwidths at 1 GiB, GB/s (VIA-Research/vTrain). That the presets are near is what
// is tested; docs/measurements/simulation.md says how near.
TEST(CollectiveModelTest, PresetsAreNearMeasuredBandwidths) {
  const std::vector<double> v100{22.6, 45.1, 85.4, 37.2, 45.7, 87.0, 134.5};
  const std::vector<double> a100{197, 212, 222, 225, 227, 227, 229};
  for (int n = 2; n <= 8; ++n) {
    const auto i = static_cast<std::size_t>(n - 2);
    EXPECT_NEAR(bus_bandwidth(preset("v100-16x8"), n, kGiB) / v100[i], 1, 0.1) << n;
    EXPECT_NEAR(bus_bandwidth(preset("a100-80x8"), n, kGiB) / a100[i], 1, 0.1) << n;
  }
  EXPECT_EQ(algorithm(preset("v100-16x8"), 5, kGiB), "chain");
  EXPECT_EQ(algorithm(preset("v100-16x8"), 4, kGiB), "ring");
}

// stas00/ml-engineering: plateaus of 8 x H200 and 8 x B200, GB/s.
TEST(CollectiveModelTest, HopperAndBlackwellAreNearTheirPlateaus) {
  const std::size_t large = 8 * kGiB;
  for (const auto& [n, measured] :
       {std::pair{4, 363.0}, {5, 414.0}, {6, 436.0}, {7, 460.0}, {8, 473.0}}) {
    EXPECT_NEAR(bus_bandwidth(preset("h200x8"), n, large) / measured, 1, 0.06) << n;
    EXPECT_EQ(algorithm(preset("h200x8"), n, large), n < 5 ? "ring" : "nvls");
  }
  for (const auto& [n, measured] :
       {std::pair{4, 673.0}, {5, 678.0}, {6, 778.0}, {7, 811.0}, {8, 838.0}}) {
    EXPECT_NEAR(bus_bandwidth(preset("b200x8"), n, large) / measured, 1, 0.06) << n;
    EXPECT_EQ(algorithm(preset("b200x8"), n, large), n < 6 ? "ring" : "nvls");
  }
}

TEST(CollectiveModelTest, OnPcieGpusShareUplinksAndTheHost) {
  // NCCL on 8 RTX 5090, PCIe 5: 35 and 28 GB/s by 4 and 8; half of it on PCIe 4.
  EXPECT_NEAR(bus_bandwidth(preset("rtx4090x8"), 4, kGiB), 16, 1);
  EXPECT_NEAR(bus_bandwidth(preset("rtx4090x8"), 8, kGiB), 14, 1);
  // DDP on 2 TITAN RTX without peers: 498 MB took 147.7 ms.
  EXPECT_NEAR(seconds(preset("titan-rtx-x2-no-nvlink"), 2, 498'000'000), 147.7e-3, 3e-3);
  EXPECT_NEAR(bus_bandwidth(preset("titan-rtx-x2"), 2, kGiB), 45, 0.5);
  Cluster half = preset("t4x4");
  const double full_duplex = bus_bandwidth(half, 4, kGiB);
  half.pcie.duplex = Duplex::half;
  EXPECT_NEAR(bus_bandwidth(half, 4, kGiB) / full_duplex, 0.5, 0.01);
  for (const char* name : {"v100-16x8", "a100-80x8"}) {
    Cluster links = preset(name);
    const double both = bus_bandwidth(links, 8, kGiB);
    links.nvlink->duplex = Duplex::half;
    EXPECT_NEAR(bus_bandwidth(links, 8, kGiB) / both, 0.5, 0.02) << name;
  }
}

// Four nodes of 8 B200 with 400 GB/s each: 4 GiB in 22.05 ms (stas00/ml-engineering).
TEST(CollectiveModelTest, BetweenNodesTheCardsAreTheLimit) {
  Cluster b200 = preset("b200x8");
  b200.nodes = 4;
  EXPECT_NEAR(seconds(b200, 32, 4 * kGiB) / 22.05e-3, 1, 0.1);
  EXPECT_EQ(algorithm(b200, 32, 4 * kGiB), "ring");
}

TEST(CollectiveModelTest, SmallMessagesOfManyNodesTakeTrees) {
  Cluster many = preset("a100-80x8");
  many.nodes = 128;
  EXPECT_EQ(algorithm(many, 1024, kMiB), "tree");
  EXPECT_EQ(algorithm(many, 1024, kMiB, Kind::reduce_scatter), "ring");
  // 26.4 + 4.4 x 7, 7 levels of 28 us, and 2 MiB at 200 GB/s x 0.94 x 0.92
  EXPECT_NEAR(seconds(many, 1024, kMiB), 253.2e-6 + 12.1e-6 + 5.7e-6, 1e-6);
}

TEST(CollectiveModelTest, TimesGrowWithBytesAndAreTheSameAgain) {
  for (const std::string& name : preset_names()) {
    const Cluster c = preset(name);
    for (int n = 2; n <= c.gpus.count; ++n) {
      const CollectiveModel model(c, n);
      double last = 0;
      for (std::size_t nbytes = 1024; nbytes <= kGiB; nbytes *= 2) {
        const double t = model.time(Kind::all_reduce, nbytes).seconds;
        EXPECT_GT(t, last) << name << " " << n;
        EXPECT_EQ(CollectiveModel(c, n).time(Kind::all_reduce, nbytes).seconds, t);
        last = t;
      }
    }
  }
}

TEST(CollectiveModelTest, RefusesOtherKindsAndNumbers) {
  const Cluster c = preset("t4x4");
  EXPECT_THAT(thrown_text([&] { CollectiveModel(c, 5); }), HasSubstr("from 1 to the 4 of t4x4"));
  EXPECT_THAT(thrown_text([&] { CollectiveModel(c, 0); }), HasSubstr("a collective of 0 GPUs"));
  EXPECT_THAT(thrown_text([&] { CollectiveModel(c, 2).time(Kind::scatter, 1); }),
              HasSubstr("scatter is not modelled"));
  Cluster broken = c;
  broken.gpus.memory = -1;
  EXPECT_THAT(thrown_text([&] { CollectiveModel(broken, 2); }), HasSubstr("gpus.memory: -1 B"));
}

}  // namespace
}  // namespace tandem::sim
