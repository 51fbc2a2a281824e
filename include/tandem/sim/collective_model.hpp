// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tandem/comm/collective.hpp"
#include "tandem/sim/cluster.hpp"

namespace tandem::sim {

/// How long an algorithm takes.
struct AlgorithmTime {
  const char* algorithm = "";  ///< "none", "ring", "chain", "nvls", "tree"
  double seconds = 0;
};

/// How long collectives of a library like NCCL take among GPUs 0 to n-1 of a cluster, while nothing
/// else runs.
///
/// The ways that the cluster has are timed by the formulas of docs/cluster.md, and the quickest is
/// taken. The times depend on the arguments alone. Immutable, so thread-safe.
class CollectiveModel {
 public:
  /// @param gpus  n, from 1 to the number of the cluster's GPUs; nodes are filled one by one
  /// @throws InvalidArgument  n is out of range, or `check(cluster)` does not pass.
  /// @cost   on a mesh of NVLinks, the search of `ring_count`
  CollectiveModel(const Cluster& cluster, int gpus);

  int gpus() const noexcept { return gpus_; }
  /// The time of the quickest algorithm.
  ///
  /// @param kind    all_reduce, reduce_scatter, all_gather, broadcast or reduce
  /// @param nbytes  of the whole array: of each GPU's input for all_reduce, reduce_scatter,
  ///                broadcast and reduce, and of each GPU's output for all_gather
  /// @throws InvalidArgument  another kind.
  AlgorithmTime time(comm::Collective::Kind kind, std::size_t nbytes) const;
  /// The times of all algorithms that the cluster has for the kind. Arguments and errors as above.
  std::vector<AlgorithmTime> times(comm::Collective::Kind kind, std::size_t nbytes) const;
  /// What each GPU's links carry in one direction for a ring, in bytes/s, before constants.
  double ring_bandwidth() const noexcept { return ring_bandwidth_; }

 private:
  double ring_time(comm::Collective::Kind kind, double nbytes) const;
  double nvls_time(double nbytes) const;
  double nodes_ring_time(comm::Collective::Kind kind, double nbytes) const;
  double nodes_tree_time(double nbytes) const;
  double inside_time(double nbytes) const;

  CollectiveConstants constants_;
  int gpus_, nodes_, gpus_of_node_;
  double ring_bandwidth_ = 0;
  double node_bandwidth_ = 0;  ///< bytes/s of a node's network cards in one direction
  bool is_chain_ = false;
};

}  // namespace tandem::sim
