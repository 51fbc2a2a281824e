// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/machine/cluster_check.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"

#include "sim/machine/fields.hpp"
#include "sim/machine/figure_check.hpp"
#include "sim/machine/quantity.hpp"

namespace tandem::sim {
namespace {

constexpr int kMostGpus = 1 << 16;  // in all nodes
constexpr double kMostVariation = 1;
constexpr double kMostSpeedOfOp = 1e6;  // beside what its arithmetic and bytes say
constexpr double kRounding = 1 + 1e-9;  // of bandwidths that were multiplied
constexpr double kMostHalfSize = 1e9;
constexpr int kMostMeshGpus = 8;      // rings are searched for
constexpr int kMostLinksOfPair = 64;  // of one kind

void check_peak(const char* path, const std::optional<double>& peak) {
  if (peak) check_positive(path, *peak, Dimension::flops);
}

void check_no_pairs(const NvLinks& nvlink) {
  if (!nvlink.pairs.empty())
    refuse_field("nvlink.pairs",
                 "contradicts nvlink.topology all_to_all, where every GPU reaches every other one; "
                 "leave one of them out");
}

void check_pairs(const NvLinks& nvlink, const Gpus& gpus) {
  if (gpus.count > kMostMeshGpus)
    refuse_field(
        "gpus.count",
        detail::concat(gpus.count, "; NVLinks join pairs of at most ", kMostMeshGpus, " GPUs"));
  if (nvlink.pairs.empty())
    refuse_field("nvlink.pairs", "is empty; name the pairs, or set nvlink to null");
  std::vector<int> used(static_cast<std::size_t>(gpus.count));
  std::set<std::pair<int, int>> seen;
  for (std::size_t i = 0; i < nvlink.pairs.size(); ++i) {
    const NvLinkPair& pair = nvlink.pairs[i];
    const std::string path = detail::concat("nvlink.pairs[", i, "]");
    for (const int gpu : {pair.first, pair.second}) {
      if (gpu < 0 || gpu >= gpus.count)
        refuse_field(path + ".gpus",
                     detail::concat("GPU ", gpu, " does not exist; gpus.count is ", gpus.count));
    }
    if (pair.first == pair.second)
      refuse_field(path + ".gpus", detail::concat("joins GPU ", pair.first, " with itself"));
    if (!seen.insert(std::minmax(pair.first, pair.second)).second)
      refuse_field(
          path + ".gpus",
          detail::concat(
              "GPUs ", pair.first, " and ", pair.second, " are a pair already; add up the links"));
    check_count(path + ".links", pair.links, 1, kMostLinksOfPair);
    for (const int gpu : {pair.first, pair.second}) {
      const int links = used[static_cast<std::size_t>(gpu)] += pair.links;
      if (links > nvlink.links_per_gpu)
        refuse_field(path + ".links",
                     detail::concat("gives GPU ",
                                    gpu,
                                    " ",
                                    links,
                                    " links; nvlink.links_per_gpu is ",
                                    nvlink.links_per_gpu));
    }
  }
}

void check_switches(const Pcie& pcie, const Gpus& gpus) {
  std::map<int, std::size_t> seen;
  for (std::size_t i = 0; i < pcie.switches.size(); ++i) {
    const std::string path = detail::concat("pcie.switches[", i, "]");
    check_count(path + ".socket", pcie.switches[i].socket, 0, 7);
    for (const int gpu : pcie.switches[i].gpus) {
      if (gpu < 0 || gpu >= gpus.count)
        refuse_field(path + ".gpus",
                     detail::concat("GPU ", gpu, " does not exist; gpus.count is ", gpus.count));
      const auto [at, is_new] = seen.emplace(gpu, i);
      if (!is_new)
        refuse_field(
            path + ".gpus",
            detail::concat("GPU ", gpu, " is behind pcie.switches[", at->second, "] already"));
    }
  }
  for (int gpu = 0; gpu < gpus.count; ++gpu) {
    if (!seen.contains(gpu))
      refuse_field("pcie.switches", detail::concat("GPU ", gpu, " is behind none of them"));
  }
}

void check_ring(const RingConstants& ring) {
  check_not_negative("collectives.ring.alpha0", ring.alpha0, Dimension::time);
  check_not_negative("collectives.ring.alpha1", ring.alpha1, Dimension::time);
  check_part("collectives.ring.efficiency", ring.efficiency);
  check_number("collectives.ring.kappa", ring.kappa, 0, 2);
  check_not_negative("collectives.ring.gamma", ring.gamma, Dimension::root_time);
}

void check_nvls(const NvlsConstants& nvls, const NvLinks& nvlink, int gpus) {
  check_not_negative("collectives.nvls.alpha", nvls.alpha, Dimension::time);
  check_positive("collectives.nvls.bandwidth", nvls.bandwidth, Dimension::bandwidth);
  const double links = nvlink.links_per_gpu * nvlink.bandwidth;
  if (nvls.bandwidth > links * kRounding)
    refuse_field("collectives.nvls.bandwidth",
                 detail::concat(format_quantity(Dimension::bandwidth, nvls.bandwidth),
                                "; it must be at most nvlink.links_per_gpu times "
                                "nvlink.bandwidth, ",
                                format_quantity(Dimension::bandwidth, links)));
  check_not_negative("collectives.nvls.gamma", nvls.gamma, Dimension::root_time);
  if (nvls.least_gpus < 2 || nvls.least_gpus > gpus)
    refuse_field("collectives.nvls.least_gpus",
                 detail::concat(nvls.least_gpus, "; it must be from 2 to gpus.count, ", gpus));
}

void check_host_fields(const Gpus& gpus) {
  const bool is_host = gpus.kind == GpuKind::host;
  if (is_host && !gpus.products)
    refuse_field("gpus.products", "is missing; gpus.kind is host, whose products depend on it");
  if (!is_host && gpus.products)
    refuse_field("gpus.products", "is of gpus.kind host alone; leave one of them out");
  if (!is_host && gpus.cache)
    refuse_field("gpus.cache", "is of gpus.kind host alone; leave one of them out");
  if (gpus.cache) {
    check_positive("gpus.cache.size", gpus.cache->size, Dimension::bytes);
    check_positive("gpus.cache.bandwidth", gpus.cache->bandwidth, Dimension::bandwidth);
  }
  if (!is_host && !gpus.ops.empty())
    refuse_field("gpus.ops", "is of gpus.kind host alone; leave one of them out");
  for (const auto& [name, speed] : gpus.ops)
    check_number("gpus.ops." + name, speed, 1 / kMostSpeedOfOp, kMostSpeedOfOp);
  if (!gpus.products) return;
  const HalfSizes& half = *gpus.products;
  for (const auto& [path, size] : {std::pair("gpus.products.m", half.m),
                                   std::pair("gpus.products.n", half.n),
                                   std::pair("gpus.products.k", half.k)})
    check_number(path, size, 0, kMostHalfSize);
}

}  // namespace

void check_gpus(const Gpus& gpus) {
  check_words("gpus.name", gpus.name);
  check_count("gpus.count", gpus.count, 1, kMostGpus);
  check_count("gpus.multiprocessors", gpus.multiprocessors, 1, kMostGpus);
  check_positive("gpus.memory", gpus.memory, Dimension::bytes);
  check_not_negative("gpus.reserved_memory", gpus.reserved_memory, Dimension::bytes);
  if (gpus.reserved_memory >= gpus.memory)
    refuse_field("gpus.reserved_memory",
                 detail::concat(format_quantity(Dimension::bytes, gpus.reserved_memory),
                                "; it must be less than gpus.memory, ",
                                format_quantity(Dimension::bytes, gpus.memory)));
  check_positive("gpus.memory_bandwidth", gpus.memory_bandwidth, Dimension::bandwidth);
  check_positive("gpus.peak.f32", gpus.peak.f32, Dimension::flops);
  check_peak("gpus.peak.tf32", gpus.peak.tf32);
  check_peak("gpus.peak.bf16", gpus.peak.bf16);
  check_peak("gpus.peak.f16", gpus.peak.f16);
  check_peak("gpus.peak.f64", gpus.peak.f64);
  check_part("gpus.efficiency.copy", gpus.efficiency.copy);
  check_part("gpus.efficiency.memory", gpus.efficiency.memory);
  check_part("gpus.efficiency.matmul", gpus.efficiency.matmul);
  check_part("gpus.efficiency.beside_collectives", gpus.efficiency.beside_collectives);
  check_not_negative("gpus.launch.gpu", gpus.launch.gpu, Dimension::time);
  check_not_negative("gpus.launch.host", gpus.launch.host, Dimension::time);
  check_not_negative(
      "gpus.launch.host_backward", gpus.launch.host_backward.value_or(0), Dimension::time);
  check_number("gpus.variation", gpus.variation, 0, kMostVariation);
  check_host_fields(gpus);
}

void check_nvlink(const NvLinks& nvlink, const Gpus& gpus) {
  if (gpus.count < 2)
    refuse_field("nvlink",
                 "joins GPUs, but gpus.count is 1; set nvlink to null, or give more GPUs");
  check_count("nvlink.links_per_gpu", nvlink.links_per_gpu, 1, kMostLinksOfPair);
  check_positive("nvlink.bandwidth", nvlink.bandwidth, Dimension::bandwidth);
  check_not_negative("nvlink.latency", nvlink.latency, Dimension::time);
  if (nvlink.topology == NvLinkTopology::pairs)
    check_pairs(nvlink, gpus);
  else
    check_no_pairs(nvlink);
}

void check_pcie(const Pcie& pcie, const Gpus& gpus) {
  check_positive("pcie.bandwidth", pcie.bandwidth, Dimension::bandwidth);
  if (pcie.peer_access && !pcie.peer_latency)
    refuse_field("pcie.peer_latency", "is missing; pcie.peer_access is true");
  if (!pcie.peer_access && pcie.peer_latency)
    refuse_field("pcie.peer_latency",
                 "contradicts pcie.peer_access false, without which there is no path to a peer; "
                 "leave it out");
  if (!pcie.peer_access && pcie.peer_across_sockets)
    refuse_field("pcie.peer_across_sockets",
                 "true contradicts pcie.peer_access false; set it to false");
  if (pcie.peer_latency)
    check_not_negative("pcie.peer_latency", *pcie.peer_latency, Dimension::time);
  if (pcie.switches.empty() && pcie.uplink_bandwidth)
    refuse_field("pcie.uplink_bandwidth", "is that of switches, but pcie.switches has none");
  if (!pcie.switches.empty()) {
    check_switches(pcie, gpus);
    if (!pcie.uplink_bandwidth)
      refuse_field("pcie.uplink_bandwidth", "is missing; pcie.switches has some");
    check_positive("pcie.uplink_bandwidth", *pcie.uplink_bandwidth, Dimension::bandwidth);
  }
  const bool has_sockets = std::ranges::any_of(
      pcie.switches, [&](const PcieSwitch& s) { return s.socket != pcie.switches[0].socket; });
  if (has_sockets && !pcie.socket_bandwidth)
    refuse_field("pcie.socket_bandwidth", "is missing; pcie.switches are on several sockets");
  if (!has_sockets && pcie.socket_bandwidth)
    refuse_field("pcie.socket_bandwidth",
                 "is that between sockets, but all pcie.switches are on one");
  if (pcie.socket_bandwidth)
    check_positive("pcie.socket_bandwidth", *pcie.socket_bandwidth, Dimension::bandwidth);
}

void check_between_nodes(const Cluster& cluster) {
  check_count("nodes", cluster.nodes, 1, kMostGpus / cluster.gpus.count);
  check_positive("host.bandwidth", cluster.host.bandwidth, Dimension::bandwidth);
  if (cluster.host.bandwidth > cluster.pcie.bandwidth * kRounding)
    refuse_field("host.bandwidth",
                 detail::concat(format_quantity(Dimension::bandwidth, cluster.host.bandwidth),
                                "; it must be at most pcie.bandwidth, over which a GPU reaches the "
                                "host's memory, ",
                                format_quantity(Dimension::bandwidth, cluster.pcie.bandwidth)));
  check_positive("host.total_bandwidth", cluster.host.total_bandwidth, Dimension::bandwidth);
  if (cluster.host.total_bandwidth < cluster.host.bandwidth)
    refuse_field("host.total_bandwidth",
                 detail::concat(format_quantity(Dimension::bandwidth, cluster.host.total_bandwidth),
                                "; it must be at least that of one GPU, host.bandwidth, ",
                                format_quantity(Dimension::bandwidth, cluster.host.bandwidth)));
  check_not_negative("host.latency", cluster.host.latency, Dimension::time);
  if (cluster.nodes > 1 && !cluster.nics)
    refuse_field("nics", detail::concat("is missing; nodes is ", cluster.nodes));
  if (!cluster.nics) return;
  check_count("nics.count", cluster.nics->count, 1, kMostLinksOfPair);
  check_positive("nics.bandwidth", cluster.nics->bandwidth, Dimension::bandwidth);
  check_not_negative("nics.latency", cluster.nics->latency, Dimension::time);
}

void check_collectives(const Cluster& cluster) {
  const CollectiveConstants& constants = cluster.collectives;
  check_ring(constants.ring);
  if (constants.nvls) {
    if (!cluster.nvlink || cluster.nvlink->topology != NvLinkTopology::all_to_all)
      refuse_field("collectives.nvls",
                   "needs an NVSwitch, but nvlink.topology is not all_to_all; leave it out");
    check_nvls(*constants.nvls, *cluster.nvlink, cluster.gpus.count);
  }
  if (cluster.nics && !constants.network)
    refuse_field("collectives.network", "is missing; there are nics");
  if (!cluster.nics && constants.network)
    refuse_field("collectives.network", "is that of nics, but there are none");
  if (!constants.network) return;
  check_not_negative("collectives.network.alpha", constants.network->alpha, Dimension::time);
  check_part("collectives.network.efficiency", constants.network->efficiency);
  check_part("collectives.network.tree_efficiency", constants.network->tree_efficiency);
}

}  // namespace tandem::sim
