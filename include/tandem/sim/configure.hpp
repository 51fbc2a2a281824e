// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/runtime/device.hpp"
#include "tandem/sim/cluster.hpp"

namespace tandem::sim {

/// The virtual devices that stand for a machine.
struct ClusterDevices {
  Device host;               ///< where batches and new modules are
  std::vector<Device> gpus;  ///< device i stands for GPU i, and has its memory as its limit
};

/// Makes virtual devices stand for the first GPUs of a machine, and default_devices() those GPUs.
///
/// They are shape-only, as the host is: a step accounts for all memory and computes nothing, and
/// `simulate` says when its work would be done. A GPU's limit is its memory without what its driver
/// and libraries hold.
///
/// Must not be called while work runs.
/// @throws InvalidArgument  the cluster has no such number of GPUs.
ClusterDevices configure_cluster(const Cluster& cluster, int gpus);

}  // namespace tandem::sim
