// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/configure.hpp"

#include <cstdlib>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/sim/presets.hpp"
#include "tandem/tensor/factories.hpp"

#include "sim/restored_devices.hpp"

namespace tandem::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Gives other tests the devices and the environment that they had.
class ConfigureCluster : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("TANDEM_CLUSTER"); }

  const testing::RestoredDevices restored_;
};

TEST_F(ConfigureCluster, DevicesHaveTheGpusMemoryAndNoData) {
  const ClusterDevices devices = configure_cluster(preset("t4x4"), 3);
  EXPECT_EQ(devices.cluster.name, "t4x4");
  EXPECT_EQ(default_devices(), devices.gpus);
  ASSERT_EQ(devices.gpus.size(), 3U);
  for (const Device gpu : devices.gpus) {
    const double gib = static_cast<double>(logical_device(gpu).limit()) / (1 << 30);
    EXPECT_NEAR(gib, 16 - 0.4, 0.1);
    EXPECT_FALSE(logical_device(gpu).has_data());
    EXPECT_NE(gpu, devices.host);
  }
  EXPECT_FALSE(logical_device(devices.host).has_data());
  EXPECT_THAT([] { configure_cluster(preset("t4x4"), 5); },
              ThrowsMessage<InvalidArgument>(HasSubstr("5 GPUs of t4x4, which has 4")));
}

TEST_F(ConfigureCluster, SixteenNodesHaveOneGpuMoreThanThereAreDevices) {
  Cluster cluster = preset("a100-80x8-8-nodes");
  cluster.nodes = 16;
  EXPECT_EQ(configure_cluster(cluster, 127).gpus.back(), (Device{DeviceType::cpu, 127}));
  EXPECT_THAT([&] { configure_cluster(cluster, 128); },
              ThrowsMessage<InvalidArgument>(HasSubstr("stand for at most 127; give fewer")));
  EXPECT_EQ(default_devices().size(), 127U);
}

TEST_F(ConfigureCluster, DevicesMayCompute) {
  const ClusterDevices devices = configure_cluster(preset("t4x4"), 2, ClusterData::kept);
  EXPECT_EQ(full({1}, 3, {.device = devices.gpus[1]}).item(), 3);
  EXPECT_EQ(full({1}, 3, {.device = devices.host}).item(), 3);
}

TEST_F(ConfigureCluster, TheEnvironmentNamesTheMachine) {
  ::unsetenv("TANDEM_CLUSTER");
  EXPECT_FALSE(configure_cluster());
  ::setenv("TANDEM_CLUSTER", "", 1);
  EXPECT_FALSE(configure_cluster());
  ::setenv("TANDEM_CLUSTER", "titan-rtx-x2", 1);
  const auto devices = configure_cluster();
  ASSERT_TRUE(devices);
  EXPECT_EQ(devices->gpus.size(), 2U);
  EXPECT_EQ(devices->cluster.gpus.name, "TITAN RTX");
  ::setenv("TANDEM_CLUSTER", "titan-rtx-x3", 1);
  EXPECT_THAT(
      [] { configure_cluster(); },
      ThrowsMessage<InvalidArgument>(HasSubstr("TANDEM_CLUSTER: 'titan-rtx-x3' is neither")));
}

}  // namespace
}  // namespace tandem::sim
