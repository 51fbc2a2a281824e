// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/path.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/sim/presets.hpp"

#include "thrown_text.hpp"

namespace tandem::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

std::vector<std::string> names(const Path& path) {
  std::vector<std::string> names;
  for (const PathPart& part : path.parts)
    names.push_back(part.name);
  return names;
}

TEST(PathTest, BySwitchATransferTakesAllLinksOfBothGpus) {
  const Path p = path(preset("a100-80x8"), 3, 5);
  EXPECT_EQ(p.kind, PathKind::nvlink);
  EXPECT_TRUE(p.is_peer());
  EXPECT_THAT(names(p), ElementsAre("node0/gpu3/nvlink/out", "node0/gpu5/nvlink/in"));
  EXPECT_DOUBLE_EQ(p.bandwidth(), 12 * 25e9 * 0.91) << "what copies reach";
  EXPECT_DOUBLE_EQ(p.latency(), 2.7e-6);
}

TEST(PathTest, InAMeshATransferTakesTheLinksOfThePair) {
  const Cluster dgx1 = preset("v100-16x8");
  EXPECT_DOUBLE_EQ(path(dgx1, 0, 1).bandwidth(), 25e9 * 0.9);
  EXPECT_DOUBLE_EQ(path(dgx1, 0, 3).bandwidth(), 50e9 * 0.9);
  EXPECT_THAT(names(path(dgx1, 0, 3)), ElementsAre("node0/nvlink0-3/up"));
  EXPECT_THAT(names(path(dgx1, 3, 0)), ElementsAre("node0/nvlink0-3/down"));
}

TEST(PathTest, WithoutALinkItGoesThroughTheHostBetweenSockets) {
  const Path p = path(preset("v100-16x8"), 0, 5);
  EXPECT_EQ(p.kind, PathKind::host);
  EXPECT_FALSE(p.is_peer());
  EXPECT_THAT(names(p),
              ElementsAre("node0/gpu0/pcie/out",
                          "node0/switch0/out",
                          "node0/gpu0/staging/out",
                          "node0/host",
                          "node0/socket0-1/up",
                          "node0/switch2/in",
                          "node0/gpu5/pcie/in"));
  EXPECT_EQ(p.bandwidth(), 8e9);
  EXPECT_DOUBLE_EQ(p.latency(), 15e-6);
}

TEST(PathTest, PeersOnPcieShareTheirSwitchsUplink) {
  const Cluster l4 = preset("l4x8");
  EXPECT_THAT(names(path(l4, 0, 1)), ElementsAre("node0/gpu0/pcie/out", "node0/gpu1/pcie/in"));
  EXPECT_EQ(path(l4, 0, 1).kind, PathKind::pcie);
  EXPECT_EQ(path(l4, 3, 4).kind, PathKind::host);  // no peer access between the sockets
  Cluster joined = l4;
  joined.pcie.peer_across_sockets = true;
  EXPECT_THAT(names(path(joined, 5, 1)),
              ElementsAre("node0/gpu5/pcie/out",
                          "node0/switch1/out",
                          "node0/socket0-1/down",
                          "node0/switch0/in",
                          "node0/gpu1/pcie/in"));
}

TEST(PathTest, WithoutPeerAccessItIsStaged) {
  EXPECT_EQ(path(preset("rtx4090x8"), 0, 1).kind, PathKind::host);
  const Path p = path(preset("titan-rtx-x2-no-nvlink"), 1, 0);
  EXPECT_EQ(p.kind, PathKind::host);
  EXPECT_EQ(p.bandwidth(), 3.4e9);
  EXPECT_EQ(path(preset("titan-rtx-x2"), 1, 0).kind, PathKind::nvlink);
}

TEST(PathTest, HalfDuplexDirectionsShareOnePart) {
  Cluster c = preset("t4x4");
  c.pcie.duplex = Duplex::half;
  EXPECT_THAT(names(path(c, 0, 1)), ElementsAre("node0/gpu0/pcie", "node0/gpu1/pcie"));
  EXPECT_THAT(names(path(c, 1, 0)), ElementsAre("node0/gpu1/pcie", "node0/gpu0/pcie"));
  Cluster pair = preset("titan-rtx-x2");
  pair.nvlink->duplex = Duplex::half;
  EXPECT_EQ(names(path(pair, 0, 1)), names(path(pair, 1, 0)));
  Cluster behind_switch = preset("a100-80x8");
  behind_switch.nvlink->duplex = Duplex::half;
  EXPECT_THAT(names(path(behind_switch, 2, 6)),
              ElementsAre("node0/gpu2/nvlink", "node0/gpu6/nvlink"));
}

TEST(PathTest, BatchesShareTheLinkOfTheirSwitch) {
  const Path in = path_from_host(preset("v100-16x8"), 5);
  EXPECT_THAT(names(in), ElementsAre("node0/gpu5/pcie/in", "node0/switch2/in"));
  EXPECT_EQ(in.bandwidth(), 12e9);
  EXPECT_DOUBLE_EQ(in.latency(), 15e-6);
  EXPECT_THAT(names(path_to_host(preset("t4x4"), 2)), ElementsAre("node0/gpu2/pcie/out"));
  EXPECT_THAT(names(path_from_host(preset("a100-80x8-8-nodes"), 9)),
              ElementsAre("node1/gpu1/pcie/in", "node1/switch0/in"));
}

TEST(PathTest, BetweenNodesItTakesTheCardsOfBothGpus) {
  const Path p = path(preset("a100-80x8-8-nodes"), 9, 63);
  EXPECT_EQ(p.kind, PathKind::network);
  EXPECT_THAT(names(p), ElementsAre("node1/nic1/out", "node7/nic7/in"));
  EXPECT_EQ(p.bandwidth(), 25e9);
  Cluster dgx1 = preset("v100-16x8");  // 4 cards for 8 GPUs
  dgx1.nodes = 2;
  EXPECT_THAT(names(path(dgx1, 7, 8)), ElementsAre("node0/nic3/out", "node1/nic0/in"));
}

TEST(PathTest, RefusesGpusThatThereAreNot) {
  const Cluster c = preset("t4x4");
  EXPECT_THAT(thrown_text([&] { path(c, 0, 4); }), HasSubstr("GPU 4 does not exist; t4x4 has 4"));
  EXPECT_THAT(thrown_text([&] { path(c, -1, 0); }), HasSubstr("GPU -1"));
  EXPECT_THAT(thrown_text([&] { path(c, 2, 2); }), HasSubstr("both ends are GPU 2"));
}

TEST(PathTest, KindsHaveNames) {
  EXPECT_STREQ(name(PathKind::nvlink), "nvlink");
  EXPECT_STREQ(name(PathKind::pcie), "pcie");
  EXPECT_STREQ(name(PathKind::host), "host");
  EXPECT_STREQ(name(PathKind::network), "network");
}

}  // namespace
}  // namespace tandem::sim
