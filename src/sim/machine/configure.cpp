// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/configure.hpp"

#include <cstddef>

#include "tandem/core/check.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/sim/presets.hpp"

namespace tandem::sim {

ClusterDevices configure_cluster(const Cluster& cluster, int gpus, ClusterData data) {
  check(cluster);
  TANDEM_CHECK(gpus >= 1 && gpus <= cluster.gpu_count(),
               "configure_cluster: ",
               gpus,
               " GPUs of ",
               cluster.name,
               ", which has ",
               cluster.gpu_count(),
               "; give from 1 to that many");
  TANDEM_CHECK(gpus <= kMaxGpus,
               "configure_cluster: ",
               gpus,
               " GPUs of ",
               cluster.name,
               "; virtual devices stand for at most ",
               kMaxGpus,
               "; give fewer");
  ClusterDevices devices{.cluster = cluster, .host = Device{}, .gpus = {}};
  const bool has_data = data == ClusterData::kept;
  const auto limit = static_cast<std::size_t>(cluster.gpus.memory - cluster.gpus.reserved_memory);
  std::vector<DeviceSpec> specs;
  for (int i = 1; i <= gpus; ++i) {  // the host is cpu:0
    devices.gpus.push_back({DeviceType::cpu, i});
    specs.push_back({.device = devices.gpus.back(), .limit = limit, .has_data = has_data});
  }
  Runtime::instance().configure(specs);
  if (cluster.gpus.kind == GpuKind::gpu) Runtime::instance().stand_for_gpus(devices.gpus);
  logical_device(devices.host).configure({.device = devices.host, .has_data = has_data});
  return devices;
}

std::optional<ClusterDevices> configure_cluster(ClusterData data) {
  const std::optional<Cluster> cluster = cluster_of_environment();
  if (!cluster) return std::nullopt;
  return configure_cluster(*cluster, cluster->gpu_count(), data);
}

}  // namespace tandem::sim
