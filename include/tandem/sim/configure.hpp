// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/runtime/device.hpp"
#include "tandem/sim/cluster.hpp"

namespace tandem::sim {

/// Whether the devices that stand for GPUs compute.
enum class ClusterData : std::uint8_t {
  none,  ///< they are shape-only: a step accounts for all memory and computes nothing
  kept,  ///< they compute on this machine, so that a model learns while its time is simulated
};

/// The virtual devices that stand for a machine.
struct ClusterDevices {
  Cluster cluster;
  Device host;               ///< where batches and new modules are
  std::vector<Device> gpus;  ///< device i stands for GPU i, and has its memory as its limit
};

/// The largest number of GPUs for which virtual devices stand, beside the host.
inline constexpr int kMaxGpus = kMaxDevices - 1;

/// Makes virtual devices stand for the first GPUs of a machine, and default_devices() those GPUs.
///
/// `simulate` says when their work would be done there. A GPU's limit is its memory without what
/// its driver and libraries hold. Ops go the way that they go on a GPU, and the host's workspace
/// does not count (Runtime::stand_for_gpus), unless the machine's are virtual devices of a
/// host.
///
/// Must not be called while work runs.
/// @throws InvalidArgument  the cluster has no such number of GPUs, or they are more than kMaxGpus.
ClusterDevices configure_cluster(const Cluster& cluster,
                                 int gpus,
                                 ClusterData data = ClusterData::none);

/// The same for all GPUs of the machine that the environment variable TANDEM_CLUSTER names, as a
/// preset or a file. So a program can be tried on machines that are not there without a change.
///
/// @return nothing, with no effect, if TANDEM_CLUSTER is not set or empty
/// @throws InvalidArgument, FileError  as find_cluster; the message names TANDEM_CLUSTER.
std::optional<ClusterDevices> configure_cluster(ClusterData data = ClusterData::none);

}  // namespace tandem::sim
