// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The figures stand here as data sheets and docs/cluster.md have them, written by hand.

#include "tandem/sim/presets.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

#include "thrown_text.hpp"

namespace tandem::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::thrown_text;

/// A peak that the hardware does not have.
constexpr std::nullopt_t none = std::nullopt;
using Peak = std::optional<double>;

struct GpuFigures {
  const char* preset;
  int count, multiprocessors;
  double gib, gb_per_s;
  double f32;
  Peak tf32, bf16, f16, f64;  // TFLOP/s
  double reserved_gib, copy, memory, matmul;
};

// clang-format off
const GpuFigures kGpus[] = {
    //                          n  SMs  GiB  GB/s  f32   tf32   bf16  f16    f64   reserved copy memory matmul
    {"p100-16x8",               8,  56,  16,  732, 10.6, none,  none, 21.2,  5.3,   0.45, 0.9,  0.88, 0.75},
    {"v100-16x8",               8,  80,  16,  900, 15.7, none,  none, 125,   7.8,   0.45, 0.9,  0.88, 0.8},
    {"v100-32x8",               8,  80,  32,  900, 15.7, none,  none, 125,   7.8,   0.45, 0.9,  0.88, 0.8},
    {"a100-40x8",               8, 108,  40, 1555, 19.5, 156,   312,  312,   9.7,   0.5,  0.91, 0.88, 0.87},
    {"a100-80x8",               8, 108,  80, 2039, 19.5, 156,   312,  312,   9.7,   0.5,  0.91, 0.88, 0.87},
    {"a100-80x8-8-nodes",       8, 108,  80, 2039, 19.5, 156,   312,  312,   9.7,   0.5,  0.91, 0.88, 0.87},
    {"h100x8",                  8, 132,  80, 3350, 67,   494.5, 989,  989,   34,    0.6,  0.84, 0.88, 0.8},
    {"h200x8",                  8, 132, 141, 4800, 67,   494.5, 989,  989,   34,    0.6,  0.88, 0.88, 0.8},
    {"b200x8",                  8, 148, 180, 8000, 80,   1125,  2250, 2250,  40,    0.7,  0.83, 0.88, 0.78},
    {"rtx3090x2",               2,  82,  24,  936, 35.6, 35.6,  71,   71,    0.556, 0.4,  0.9,  0.88, 0.41},
    {"rtx3090x2-no-bridge",     2,  82,  24,  936, 35.6, 35.6,  71,   71,    0.556, 0.4,  0.9,  0.88, 0.41},
    {"rtx4090x8",               8, 128,  24, 1008, 82.6, 82.6,  165.2, 165.2, 1.29, 0.45, 0.9,  0.88, 0.75},
    {"titan-rtx-x2",            2,  72,  24,  672, 16.3, none,  none, 130.5, 0.51,  0.4,  0.9,  0.88, 0.45},
    {"titan-rtx-x2-no-nvlink",  2,  72,  24,  672, 16.3, none,  none, 130.5, 0.51,  0.4,  0.9,  0.88, 0.45},
    {"t4x4",                    4,  40,  16,  320, 8.1,  none,  none, 65,    0.253, 0.4,  0.9,  0.85, 0.65},
    {"l4x8",                    8,  58,  24,  300, 30.3, 60,    121,  121,   0.473, 0.45, 0.9,  0.85, 0.65},
};

struct LinkFigures {
  const char* preset;
  int links;           // NVLinks of a GPU; 0: none
  double link_gb;      // each, in one direction
  double pcie_gb;
  bool peers;
  double uplink_gb, socket_gb;  // 0: none
  double host_gb, host_total_gb;
  int nics;
  double nic_gb;
};

const LinkFigures kLinks[] = {
    //                         links  GB/s    PCIe peers  up socket  host total  NICs GB/s
    {"p100-16x8",                4,  20,      12, true,   12, 10,    8,   32,    4, 12.5},
    {"v100-16x8",                6,  25,      12, true,   12, 10,    8,   32,    4, 12.5},
    {"v100-32x8",                6,  25,      12, true,   12, 10,    8,   32,    4, 12.5},
    {"a100-40x8",               12,  25,      24, true,   24, 16,    16,  64,    8, 25},
    {"a100-80x8",               12,  25,      24, true,   24, 16,    16,  64,    8, 25},
    {"a100-80x8-8-nodes",       12,  25,      24, true,   24, 16,    16,  64,    8, 25},
    {"h100x8",                  18,  25,      55, true,   55, 22,    25,  100,   8, 50},
    {"h200x8",                  18,  25,      55, true,   55, 22,    25,  100,   8, 50},
    {"b200x8",                  18,  50,      55, true,   55, 40,    25,  100,   8, 50},
    {"rtx3090x2",                4,  14.0625, 24, false,  0,  0,     5.7, 11.4,  0, 0},
    {"rtx3090x2-no-bridge",      0,  0,       24, false,  0,  0,     5.7, 11.4,  0, 0},
    {"rtx4090x8",                0,  0,       24, false,  24, 40,    16,  112,   0, 0},
    {"titan-rtx-x2",             2,  25,      12, false,  0,  0,     3.4, 6.8,   0, 0},
    {"titan-rtx-x2-no-nvlink",   0,  0,       12, false,  0,  0,     3.4, 6.8,   0, 0},
    {"t4x4",                     0,  0,       12, true,   0,  0,     8,   32,    0, 0},
    {"l4x8",                     0,  0,       24, true,   24, 40,    12,  48,    0, 0},
};

struct CollectiveFigures {
  const char* preset;
  double alpha0_us, alpha1_us, efficiency, kappa, gamma;
  double nvls_gb;  // 0: no NVLS
  int nvls_least;
  bool network;  // whether nodes may be joined
};

const CollectiveFigures kCollectives[] = {
    {"p100-16x8",              16.1, 8.4,  0.905, 0,     0,     0,   0, true},
    {"v100-16x8",              16.1, 8.4,  0.905, 0,     0,     0,   0, true},
    {"v100-32x8",              16.1, 8.4,  0.905, 0,     0,     0,   0, true},
    {"a100-40x8",              26.4, 4.4,  0.812, 0.411, 0.178, 0,   0, true},
    {"a100-80x8",              26.4, 4.4,  0.812, 0.411, 0.178, 0,   0, true},
    {"a100-80x8-8-nodes",      26.4, 4.4,  0.812, 0.411, 0.178, 0,   0, true},
    {"h100x8",                 24,   2,    0.816, 0,     0.113, 310, 5, true},
    {"h200x8",                 24,   2,    0.816, 0,     0.113, 310, 5, true},
    {"b200x8",                 24,   2,    0.755, 0,     0.113, 545, 6, true},
    {"rtx3090x2",              20,   0,    0.853, 0,     0,     0,   0, false},
    {"rtx3090x2-no-bridge",    40,   0,    1,     0,     0,     0,   0, false},
    {"rtx4090x8",              40,   10,   1,     0,     0,     0,   0, false},
    {"titan-rtx-x2",           20,   0,    0.9,   0,     0,     0,   0, false},
    {"titan-rtx-x2-no-nvlink", 40,   0,    1,     0,     0,     0,   0, false},
    {"t4x4",                   20,   11.4, 0.85,  0,     0,     0,   0, false},
    {"l4x8",                   20,   11.4, 0.85,  0,     0,     0,   0, false},
};
/// The sockets of PCIe switches, each of which has GPUs in their order.
struct WiringFigures {
  const char* preset;
  std::vector<int> sockets;  // empty: no switches
  int gpus_of_switch;
  bool across_sockets;
  std::optional<NvLinkTopology> nvlink;
  double variation;
};

constexpr auto kSwitch = NvLinkTopology::all_to_all, kPairs = NvLinkTopology::pairs;
const WiringFigures kWiring[] = {
    {"p100-16x8",              {0, 0, 1, 1},             2, false, kPairs,  0},
    {"v100-16x8",              {0, 0, 1, 1},             2, false, kPairs,  0.029},
    {"v100-32x8",              {0, 0, 1, 1},             2, false, kPairs,  0.029},
    {"a100-40x8",              {0, 0, 1, 1},             2, false, kSwitch, 0},
    {"a100-80x8",              {0, 0, 1, 1},             2, false, kSwitch, 0},
    {"a100-80x8-8-nodes",      {0, 0, 1, 1},             2, false, kSwitch, 0},
    {"h100x8",                 {0, 0, 1, 1},             2, false, kSwitch, 0},
    {"h200x8",                 {0, 0, 1, 1},             2, false, kSwitch, 0},
    {"b200x8",                 {0, 0, 1, 1},             2, false, kSwitch, 0},
    {"rtx3090x2",              {},                       0, false, kPairs,  0},
    {"rtx3090x2-no-bridge",    {},                       0, false, none,    0},
    {"rtx4090x8",              {0, 0, 0, 0, 1, 1, 1, 1}, 1, false, none,    0},
    {"titan-rtx-x2",           {},                       0, false, kPairs,  0},
    {"titan-rtx-x2-no-nvlink", {},                       0, false, none,    0},
    {"t4x4",                   {},                       0, true,  none,    0},
    {"l4x8",                   {0, 1},                   4, false, none,    0},
};

const std::map<std::string, std::string> kKnownErrors{
    {"v100-16x8", "0.2 to 5.2 % for all-reduces, 19 % for what DDP adds to a step"},
    {"v100-32x8", "0.2 to 5.2 % for all-reduces, 19 % for what DDP adds to a step"},
    {"a100-40x8", "0.7 to 1.2 % for all-reduces; no whole step was compared"},
    {"a100-80x8", "0.7 to 1.2 % for all-reduces; no whole step was compared"},
    // tests/cli/iterations_test.py derives these figures.
    {"rtx3090x2", "4.2 % on average if the time of one GPU is given, 8 % if not"},
    {"rtx3090x2-no-bridge", "4.2 % on average if the time of one GPU is given, 8 % if not"},
    {"titan-rtx-x2", "0.3 to 1.6 %"},
    {"titan-rtx-x2-no-nvlink", "0.3 to 1.6 %"},
};
// clang-format on

void expect_peak(const Peak& actual, const Peak& tera) {
  ASSERT_EQ(actual.has_value(), tera.has_value());
  EXPECT_DOUBLE_EQ(actual.value_or(0), tera.value_or(0) * 1e12);
}

TEST(PresetsTest, GpusHaveTheFiguresOfTheirDataSheets) {
  EXPECT_EQ(std::size(kGpus), preset_names().size());
  for (const GpuFigures& f : kGpus) {
    SCOPED_TRACE(f.preset);
    const Cluster c = preset(f.preset);
    EXPECT_EQ(c.name, f.preset);
    EXPECT_EQ(c.gpus.count, f.count);
    EXPECT_EQ(c.gpus.multiprocessors, f.multiprocessors);
    EXPECT_DOUBLE_EQ(c.gpus.memory, f.gib * (1 << 30));
    EXPECT_DOUBLE_EQ(c.gpus.reserved_memory, f.reserved_gib * (1 << 30));
    EXPECT_DOUBLE_EQ(c.gpus.memory_bandwidth, f.gb_per_s * 1e9);
    EXPECT_DOUBLE_EQ(c.gpus.peak.f32, f.f32 * 1e12);
    expect_peak(c.gpus.peak.tf32, f.tf32);
    expect_peak(c.gpus.peak.bf16, f.bf16);
    expect_peak(c.gpus.peak.f16, f.f16);
    expect_peak(c.gpus.peak.f64, f.f64);
    EXPECT_EQ(c.gpus.efficiency.copy, f.copy);
    EXPECT_EQ(c.gpus.efficiency.memory, f.memory);
    EXPECT_EQ(c.gpus.efficiency.matmul, f.matmul);
    EXPECT_EQ(c.gpus.efficiency.beside_collectives, 0.85);
    EXPECT_DOUBLE_EQ(c.gpus.launch.gpu, 2.5e-6);
    EXPECT_DOUBLE_EQ(c.gpus.launch.host, 6e-6);
  }
}

TEST(PresetsTest, LinksHaveTheFiguresOfTheirDataSheets) {
  EXPECT_EQ(std::size(kLinks), preset_names().size());
  for (const LinkFigures& f : kLinks) {
    SCOPED_TRACE(f.preset);
    const Cluster c = preset(f.preset);
    ASSERT_EQ(c.nvlink.has_value(), f.links > 0);
    if (c.nvlink) {
      EXPECT_EQ(c.nvlink->links_per_gpu, f.links);
      EXPECT_DOUBLE_EQ(c.nvlink->bandwidth, f.link_gb * 1e9);
      EXPECT_DOUBLE_EQ(c.nvlink->latency, 2.7e-6);
      EXPECT_EQ(c.nvlink->duplex, Duplex::full);
    }
    EXPECT_DOUBLE_EQ(c.pcie.bandwidth, f.pcie_gb * 1e9);
    EXPECT_EQ(c.pcie.duplex, Duplex::full);
    EXPECT_EQ(c.pcie.peer_access, f.peers);
    EXPECT_DOUBLE_EQ(c.pcie.peer_latency.value_or(0), f.peers ? 5e-6 : 0);
    EXPECT_DOUBLE_EQ(c.pcie.uplink_bandwidth.value_or(0), f.uplink_gb * 1e9);
    EXPECT_DOUBLE_EQ(c.pcie.socket_bandwidth.value_or(0), f.socket_gb * 1e9);
    EXPECT_DOUBLE_EQ(c.host.bandwidth, f.host_gb * 1e9);
    EXPECT_DOUBLE_EQ(c.host.total_bandwidth, f.host_total_gb * 1e9);
    EXPECT_DOUBLE_EQ(c.host.latency, 15e-6);
    ASSERT_EQ(c.nics.has_value(), f.nics > 0);
    if (c.nics) {
      EXPECT_EQ(c.nics->count, f.nics);
      EXPECT_DOUBLE_EQ(c.nics->bandwidth, f.nic_gb * 1e9);
      EXPECT_DOUBLE_EQ(c.nics->latency, 5e-6);
    }
    EXPECT_EQ(c.nodes, c.name == "a100-80x8-8-nodes" ? 8 : 1);
  }
}

TEST(PresetsTest, CollectivesHaveTheFiguresOfTheirSources) {
  EXPECT_EQ(std::size(kCollectives), preset_names().size());
  for (const CollectiveFigures& f : kCollectives) {
    SCOPED_TRACE(f.preset);
    const CollectiveConstants c = preset(f.preset).collectives;
    EXPECT_DOUBLE_EQ(c.ring.alpha0, f.alpha0_us * 1e-6);
    EXPECT_DOUBLE_EQ(c.ring.alpha1, f.alpha1_us * 1e-6);
    EXPECT_EQ(c.ring.efficiency, f.efficiency);
    EXPECT_EQ(c.ring.kappa, f.kappa);
    EXPECT_DOUBLE_EQ(c.ring.gamma, f.gamma * 1e-6 / 32);
    ASSERT_EQ(c.nvls.has_value(), f.nvls_gb > 0);
    if (c.nvls) {
      EXPECT_DOUBLE_EQ(c.nvls->alpha, 38e-6);
      EXPECT_DOUBLE_EQ(c.nvls->bandwidth, f.nvls_gb * 1e9);
      EXPECT_DOUBLE_EQ(c.nvls->gamma, 0.113e-6 / 32);
      EXPECT_EQ(c.nvls->least_gpus, f.nvls_least);
    }
    ASSERT_EQ(c.network.has_value(), f.network);
    if (f.network) {
      EXPECT_DOUBLE_EQ(c.network->alpha, 28e-6);
      EXPECT_EQ(c.network->efficiency, 0.94);
      EXPECT_EQ(c.network->tree_efficiency, 0.92);
    }
  }
}

TEST(PresetsTest, MachinesAreWiredAsTheirMakersSay) {
  EXPECT_EQ(std::size(kWiring), preset_names().size());
  for (const WiringFigures& f : kWiring) {
    SCOPED_TRACE(f.preset);
    const Cluster c = preset(f.preset);
    ASSERT_EQ(c.pcie.switches.size(), f.sockets.size());
    int gpu = 0;
    for (std::size_t i = 0; i < f.sockets.size(); ++i) {
      EXPECT_EQ(c.pcie.switches[i].socket, f.sockets[i]) << i;
      ASSERT_EQ(c.pcie.switches[i].gpus.size(), f.gpus_of_switch) << i;
      for (const int one : c.pcie.switches[i].gpus)
        EXPECT_EQ(one, gpu++);
    }
    EXPECT_EQ(c.pcie.peer_across_sockets, f.across_sockets);
    ASSERT_EQ(c.nvlink.has_value(), f.nvlink.has_value());
    if (f.nvlink) {
      EXPECT_EQ(c.nvlink->topology, *f.nvlink);
    }
    EXPECT_EQ(c.gpus.variation, f.variation);
    EXPECT_EQ(c.gpus.kind, GpuKind::gpu);
    EXPECT_FALSE(c.gpus.launch.host_backward);
  }
}

TEST(PresetsTest, OnlyMachinesThatWereComparedHaveAKnownError) {
  for (const std::string& name : preset_names()) {
    SCOPED_TRACE(name);
    const Cluster machine = preset(name);
    const auto known = kKnownErrors.find(name);
    EXPECT_EQ(machine.known_error, known == kKnownErrors.end() ? "" : known->second);
    EXPECT_EQ(machine.sources.contains("known_error"), known != kKnownErrors.end());
  }
}

TEST(PresetsTest, EachFigureHasASource) {
  for (const std::string& name : preset_names())
    EXPECT_THAT(figures_without_source(preset(name)), IsEmpty()) << name;
}

TEST(PresetsTest, TheMeshesUseAllLinksOfEachGpu) {
  for (const auto& [name, count] : {std::pair("v100-16x8", 6), {"p100-16x8", 4}}) {
    std::vector<int> links(8);
    const Cluster dgx1 = preset(name);
    for (const NvLinkPair& pair : dgx1.nvlink->pairs) {
      links[static_cast<std::size_t>(pair.first)] += pair.links;
      links[static_cast<std::size_t>(pair.second)] += pair.links;
    }
    EXPECT_THAT(links, ::testing::Each(count)) << name;
  }
}

TEST(PresetsTest, TheMeshesAreTwoSquaresWithDiagonalsAndEdgesBetweenThem) {
  for (const char* name : {"v100-16x8", "v100-32x8", "p100-16x8"}) {
    std::set<std::pair<int, int>> joined;
    const Cluster dgx1 = preset(name);
    for (const NvLinkPair& pair : dgx1.nvlink->pairs)
      joined.insert(std::minmax({pair.first, pair.second}));
    std::set<std::pair<int, int>> expected;
    for (int low = 0; low < 4; ++low) {
      expected.emplace(low, low + 4);
      for (int high = low + 1; high < 4; ++high) {
        expected.emplace(low, high);
        expected.emplace(low + 4, high + 4);
      }
    }
    EXPECT_EQ(joined, expected) << name;
  }
}

TEST(PresetsTest, AnUnknownOneIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(thrown_text([] { preset("a1000"); }),
              ::testing::AllOf(HasSubstr("'a1000'"), HasSubstr("a100-80x8, ")));
  EXPECT_THAT(thrown_text([] { find_cluster("a1000"); }),
              ::testing::AllOf(HasSubstr("neither a file nor a preset"), HasSubstr("v100-32x8")));
  EXPECT_EQ(find_cluster("l4x8").gpus.name, "L4");
}

}  // namespace
}  // namespace tandem::sim
