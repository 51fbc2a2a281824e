// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/collective_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tandem/core/check.hpp"

#include "sim/links/ring_terms.hpp"

namespace tandem::sim {

using Kind = comm::Collective::Kind;

CollectiveModel::CollectiveModel(const Cluster& cluster, int gpus)
    : constants_(cluster.collectives),
      gpus_(gpus),
      nodes_((gpus + cluster.gpus.count - 1) / std::max(1, cluster.gpus.count)),
      gpus_of_node_(std::min(gpus, cluster.gpus.count)) {
  check(cluster);
  TANDEM_CHECK(gpus >= 1 && gpus <= cluster.gpu_count(),
               "a collective of ",
               gpus,
               " GPUs; give from 1 to the ",
               cluster.gpu_count(),
               " of ",
               cluster.name);
  if (gpus_of_node_ > 1) {
    const RingLinks links = ring_links(cluster, gpus_of_node_);
    ring_bandwidth_ = links.bandwidth;
    is_chain_ = links.is_chain;
  }
  if (nodes_ > 1) node_bandwidth_ = cluster.nics->count * cluster.nics->bandwidth;
}

AlgorithmTime CollectiveModel::time(Kind kind, std::size_t nbytes) const {
  return std::ranges::min(times(kind, nbytes), {}, &AlgorithmTime::seconds);
}

std::vector<AlgorithmTime> CollectiveModel::times(Kind kind, std::size_t nbytes) const {
  const auto bytes = static_cast<double>(nbytes);
  ring_terms(kind, gpus_, {});  // refuses other kinds
  if (gpus_ == 1) return {{.algorithm = "none", .seconds = 0}};
  if (nodes_ > 1) {
    std::vector<AlgorithmTime> all{{.algorithm = "ring", .seconds = nodes_ring_time(kind, bytes)}};
    if (kind == Kind::all_reduce)
      all.push_back({.algorithm = "tree", .seconds = nodes_tree_time(bytes)});
    return all;
  }
  std::vector<AlgorithmTime> all{
      {.algorithm = is_chain_ ? "chain" : "ring", .seconds = ring_time(kind, bytes)}};
  const bool has_nvls = constants_.nvls && gpus_ >= constants_.nvls->least_gpus;
  if (has_nvls && kind == Kind::all_reduce)
    all.push_back({.algorithm = "nvls", .seconds = nvls_time(bytes)});
  return all;
}

double CollectiveModel::ring_time(Kind kind, double nbytes) const {
  const RingConstants& c = constants_.ring;
  const RingTerms terms =
      ring_terms(kind, gpus_of_node_, {.bandwidth = ring_bandwidth_, .is_chain = is_chain_});
  return c.alpha0 + c.alpha1 * terms.steps +
         nbytes * (terms.volume + c.kappa * terms.extra) / (c.efficiency * ring_bandwidth_) +
         c.gamma * std::sqrt(nbytes * terms.volume);
}

double CollectiveModel::nvls_time(double nbytes) const {
  const NvlsConstants& c = *constants_.nvls;
  const double moved = nbytes * nvls_volume(gpus_of_node_);
  return c.alpha + moved / c.bandwidth + c.gamma * std::sqrt(moved);
}

/// One ring through all GPUs for each network card: each node's cards carry what the links between
/// two GPUs of a node carry.
double CollectiveModel::nodes_ring_time(Kind kind, double nbytes) const {
  const RingConstants& c = constants_.ring;
  const RingTerms terms = ring_terms(kind, gpus_, {});
  const double of_nodes = c.alpha1 * (gpus_ - nodes_) + constants_.network->alpha * nodes_;
  double bandwidth = constants_.network->efficiency * node_bandwidth_;
  if (gpus_of_node_ > 1) bandwidth = std::min(bandwidth, c.efficiency * ring_bandwidth_);
  return c.alpha0 + of_nodes * terms.steps / (gpus_ - 1) +
         nbytes * (terms.volume + c.kappa * terms.extra) / bandwidth +
         c.gamma * std::sqrt(nbytes * terms.volume);
}

/// The sum of a node's GPUs is added up over two trees of nodes, each for half of the bytes, while
/// the node works on the next piece. A node with two children in one tree is a leaf of the other:
/// it receives two halves from the children, one from its parent and one in the other tree.
double CollectiveModel::nodes_tree_time(double nbytes) const {
  const NetworkConstants& c = *constants_.network;
  const auto levels = static_cast<double>(std::bit_width(static_cast<unsigned>(nodes_ - 1)));
  const double received = nodes_ == 2 ? nbytes : 2 * nbytes;
  const double between = received / (c.efficiency * c.tree_efficiency * node_bandwidth_);
  const double inside = inside_time(nbytes);
  return constants_.ring.alpha0 + constants_.ring.alpha1 * (gpus_of_node_ - 1) + c.alpha * levels +
         std::max(between, inside) + constants_.ring.gamma * std::sqrt(nbytes);
}

/// The bandwidth's part of an all-reduce among a node's GPUs.
double CollectiveModel::inside_time(double nbytes) const {
  if (gpus_of_node_ == 1) return 0;
  const RingTerms terms = ring_terms(
      Kind::all_reduce, gpus_of_node_, {.bandwidth = ring_bandwidth_, .is_chain = is_chain_});
  const double by_ring = nbytes * terms.volume / (constants_.ring.efficiency * ring_bandwidth_);
  if (!constants_.nvls || gpus_of_node_ < constants_.nvls->least_gpus) return by_ring;
  return std::min(by_ring, nbytes * nvls_volume(gpus_of_node_) / constants_.nvls->bandwidth);
}

}  // namespace tandem::sim
