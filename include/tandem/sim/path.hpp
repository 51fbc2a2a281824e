// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/sim/cluster.hpp"

namespace tandem::sim {

/// What a transfer between two GPUs goes by.
enum class PathKind : std::uint8_t { nvlink, pcie, host, network };

/// "nvlink", "pcie", "host", "network".
const char* name(PathKind kind) noexcept;

/// One thing that a transfer occupies, in one direction.
///
/// Transfers whose paths have a part of the same name share its bandwidth. A link in full duplex
/// has a name for each direction.
struct PathPart {
  std::string name;      ///< "node0/gpu3/nvlink/out"
  double bandwidth = 0;  ///< bytes/s
  double latency = 0;    ///< seconds
};

/// The way of a transfer from one GPU to another.
struct Path {
  PathKind kind = PathKind::nvlink;
  std::vector<PathPart> parts = {};

  /// Whether one GPU writes to the other's memory. If not, the host's memory holds the bytes
  /// between.
  bool is_peer() const noexcept { return kind == PathKind::nvlink || kind == PathKind::pcie; }
  /// bytes/s of a copy if nothing else moves
  double bandwidth() const noexcept;
  /// seconds
  double latency() const noexcept;
};

/// The way from GPU `from` to GPU `to`, counted over all nodes: GPU i is in node i / gpus.count.
///
/// NVLink is taken where it joins the two, with the part of its bandwidth that copies reach, PCIe
/// where they have peer access, and else the memory of the host. A pure function; thread-safe.
///
/// @throws InvalidArgument  the cluster has no such GPU, or both are the same, or the nodes have no
///                          network cards.
Path path(const Cluster& cluster, int from, int to);

/// The way of a batch from the memory of a GPU's host to the GPU: over PCIe. As `path`.
Path path_from_host(const Cluster& cluster, int gpu);

/// The way back. As `path`.
Path path_to_host(const Cluster& cluster, int gpu);

}  // namespace tandem::sim
