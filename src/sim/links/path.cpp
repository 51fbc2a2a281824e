// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/path.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::sim {
namespace {

/// The two ends of a transfer, and the parts of its path so far.
class PathBuilder {
 public:
  PathBuilder(const Cluster& cluster, int from, int to)
      : cluster_(cluster),
        node_(from / cluster.gpus.count),
        to_node_(to / cluster.gpus.count),
        from_(from % cluster.gpus.count),
        to_(to % cluster.gpus.count) {}

  Path build() {
    if (node_ != to_node_) return network();
    if (const int links = nvlinks(); links > 0) return nvlink(links);
    const Pcie& pcie = cluster_.pcie;
    if (pcie.peer_access && (pcie.peer_across_sockets || socket(from_) == socket(to_)))
      return over_pcie();
    return over_host();
  }

  /// Between the first GPU and the memory of its host.
  Path with_host(const char* direction) {
    path_.kind = PathKind::host;
    add_pcie(from_, direction);
    path_.parts.back().latency = cluster_.host.latency;
    add_uplink(from_, direction);
    return path_;
  }

 private:
  /// The number of links that carry the transfer.
  int nvlinks() const {
    if (!cluster_.nvlink) return 0;
    const NvLinks& nvlink = *cluster_.nvlink;
    if (nvlink.topology == NvLinkTopology::all_to_all) return nvlink.links_per_gpu;
    for (const NvLinkPair& pair : nvlink.pairs) {
      if (std::minmax(pair.first, pair.second) == std::minmax(from_, to_)) return pair.links;
    }
    return 0;
  }

  int switch_of(int gpu) const {
    const std::vector<PcieSwitch>& all = cluster_.pcie.switches;
    const auto at = std::ranges::find_if(
        all, [&](const PcieSwitch& s) { return std::ranges::find(s.gpus, gpu) != s.gpus.end(); });
    return at == all.end() ? -1 : static_cast<int>(at - all.begin());
  }

  int socket(int gpu) const {
    const int at = switch_of(gpu);
    return at < 0 ? 0 : cluster_.pcie.switches[static_cast<std::size_t>(at)].socket;
  }

  /// A part of this name; `direction` counts only if both directions have the bandwidth.
  void add(const std::string& name,
           const char* direction,
           Duplex duplex,
           double bandwidth,
           double latency) {
    path_.parts.push_back({.name = name + (duplex == Duplex::full ? direction : ""),
                           .bandwidth = bandwidth,
                           .latency = latency});
  }

  static std::string node_name(int node) { return detail::concat("node", node, "/"); }

  Path nvlink(int links) {
    const NvLinks& nvlink = *cluster_.nvlink;
    const double bandwidth = links * nvlink.bandwidth * cluster_.gpus.efficiency.copy;
    path_.kind = PathKind::nvlink;
    if (nvlink.topology == NvLinkTopology::pairs) {
      const auto [low, high] = std::minmax(from_, to_);
      add(detail::concat(node_name(node_), "nvlink", low, "-", high),
          from_ < to_ ? "/up" : "/down",
          nvlink.duplex,
          bandwidth,
          nvlink.latency);
      return path_;
    }
    add(detail::concat(node_name(node_), "gpu", from_, "/nvlink"),
        "/out",
        nvlink.duplex,
        bandwidth,
        nvlink.latency);
    add(detail::concat(node_name(node_), "gpu", to_, "/nvlink"),
        "/in",
        nvlink.duplex,
        bandwidth,
        0);
    return path_;
  }

  void add_pcie(int gpu, const char* direction) {
    add(detail::concat(node_name(node_), "gpu", gpu, "/pcie"),
        direction,
        cluster_.pcie.duplex,
        cluster_.pcie.bandwidth,
        0);
  }

  void add_uplink(int gpu, const char* direction) {
    if (const int at = switch_of(gpu); at >= 0) {
      add(detail::concat(node_name(node_), "switch", at),
          direction,
          cluster_.pcie.duplex,
          *cluster_.pcie.uplink_bandwidth,
          0);
    }
  }

  void add_socket() {
    const int from = socket(from_), to = socket(to_);
    if (from == to) return;
    add(detail::concat(node_name(node_), "socket", std::min(from, to), "-", std::max(from, to)),
        from < to ? "/up" : "/down",
        Duplex::full,
        *cluster_.pcie.socket_bandwidth,
        0);
  }

  Path over_pcie() {
    path_.kind = PathKind::pcie;
    add_pcie(from_, "/out");
    path_.parts.back().latency = *cluster_.pcie.peer_latency;
    if (switch_of(from_) < 0 || switch_of(from_) != switch_of(to_)) {
      add_uplink(from_, "/out");
      add_socket();
      add_uplink(to_, "/in");
    }
    add_pcie(to_, "/in");
    return path_;
  }

  Path over_host() {
    const HostPath& host = cluster_.host;
    path_.kind = PathKind::host;
    add_pcie(from_, "/out");
    add_uplink(from_, "/out");
    add(detail::concat(node_name(node_), "gpu", from_, "/staging"),
        "/out",
        Duplex::full,
        host.bandwidth,
        host.latency);
    add(node_name(node_) + "host", "", Duplex::full, host.total_bandwidth, 0);
    add_socket();
    add_uplink(to_, "/in");
    add_pcie(to_, "/in");
    return path_;
  }

  Path network() {
    TANDEM_ASSERT(cluster_.nics, "a cluster of several nodes has network cards");
    const Nics& nics = *cluster_.nics;
    const auto card = [&](int gpu) { return gpu * nics.count / cluster_.gpus.count; };
    path_.kind = PathKind::network;
    add(detail::concat(node_name(node_), "nic", card(from_)),
        "/out",
        Duplex::full,
        nics.bandwidth,
        nics.latency);
    add(detail::concat(node_name(to_node_), "nic", card(to_)),
        "/in",
        Duplex::full,
        nics.bandwidth,
        0);
    return path_;
  }

  const Cluster& cluster_;
  int node_, to_node_, from_, to_;
  Path path_ = {};
};

void check_gpu(const Cluster& cluster, int gpu) {
  TANDEM_CHECK(gpu >= 0 && gpu < cluster.gpu_count(),
               "path: GPU ",
               gpu,
               " does not exist; ",
               cluster.name,
               " has ",
               cluster.gpu_count());
}

}  // namespace

const char* name(PathKind kind) noexcept {
  switch (kind) {
    case PathKind::nvlink:
      return "nvlink";
    case PathKind::pcie:
      return "pcie";
    case PathKind::host:
      return "host";
    case PathKind::network:
      break;
  }
  return "network";
}

double Path::bandwidth() const noexcept {
  double least = std::numeric_limits<double>::infinity();
  for (const PathPart& part : parts)
    least = std::min(least, part.bandwidth);
  return least;
}

double Path::latency() const noexcept {
  double sum = 0;
  for (const PathPart& part : parts)
    sum += part.latency;
  return sum;
}

Path path(const Cluster& cluster, int from, int to) {
  check_gpu(cluster, from);
  check_gpu(cluster, to);
  TANDEM_CHECK(from != to, "path: both ends are GPU ", from, "; name two GPUs");
  return PathBuilder(cluster, from, to).build();
}

Path path_from_host(const Cluster& cluster, int gpu) {
  check_gpu(cluster, gpu);
  return PathBuilder(cluster, gpu, gpu).with_host("/in");
}

Path path_to_host(const Cluster& cluster, int gpu) {
  check_gpu(cluster, gpu);
  return PathBuilder(cluster, gpu, gpu).with_host("/out");
}

}  // namespace tandem::sim
