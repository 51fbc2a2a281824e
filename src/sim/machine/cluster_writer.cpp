// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/machine/cluster_writer.hpp"

#include <optional>

#include "sim/machine/quantity.hpp"

namespace tandem::sim {
namespace {

using Ordered = nlohmann::ordered_json;

std::string written_bytes(double value) {
  return format_quantity(Dimension::bytes, value);
}

std::string written_rate(double value) {
  return format_quantity(Dimension::bandwidth, value);
}

std::string written_time(double value) {
  return format_quantity(Dimension::time, value);
}

std::string written_root_time(double value) {
  return format_quantity(Dimension::root_time, value);
}

const char* written_duplex(Duplex duplex) {
  return duplex == Duplex::full ? "full" : "half";
}

Ordered written_peak(const std::optional<double>& peak) {
  return peak ? Ordered(format_quantity(Dimension::flops, *peak)) : Ordered();
}

Ordered written_gpus(const Gpus& gpus) {
  Ordered object{{"name", gpus.name}};
  if (gpus.kind == GpuKind::host) object["kind"] = "host";
  object.update(
      {{"count", gpus.count},
       {"multiprocessors", gpus.multiprocessors},
       {"memory", written_bytes(gpus.memory)},
       {"reserved_memory", written_bytes(gpus.reserved_memory)},
       {"memory_bandwidth", written_rate(gpus.memory_bandwidth)},
       {"peak",
        {{"f32", written_peak(gpus.peak.f32)},
         {"tf32", written_peak(gpus.peak.tf32)},
         {"bf16", written_peak(gpus.peak.bf16)},
         {"f16", written_peak(gpus.peak.f16)},
         {"f64", written_peak(gpus.peak.f64)}}},
       {"efficiency",
        {{"copy", gpus.efficiency.copy},
         {"memory", gpus.efficiency.memory},
         {"matmul", gpus.efficiency.matmul},
         {"beside_collectives", gpus.efficiency.beside_collectives}}},
       {"launch",
        {{"gpu", written_time(gpus.launch.gpu)}, {"host", written_time(gpus.launch.host)}}}});
  if (gpus.variation > 0) object["variation"] = gpus.variation;
  if (gpus.launch.host_backward)
    object["launch"]["host_backward"] = written_time(*gpus.launch.host_backward);
  if (gpus.products)
    object["products"] = {
        {"m", gpus.products->m}, {"n", gpus.products->n}, {"k", gpus.products->k}};
  if (gpus.cache)
    object["cache"] = {{"size", written_bytes(gpus.cache->size)},
                       {"bandwidth", written_rate(gpus.cache->bandwidth)}};
  if (!gpus.ops.empty()) object["ops"] = gpus.ops;
  return object;
}

Ordered written_nvlink(const NvLinks& nvlink) {
  const bool has_pairs = nvlink.topology == NvLinkTopology::pairs;
  Ordered object{{"topology", has_pairs ? "pairs" : "all_to_all"},
                 {"links_per_gpu", nvlink.links_per_gpu},
                 {"bandwidth", written_rate(nvlink.bandwidth)},
                 {"latency", written_time(nvlink.latency)},
                 {"duplex", written_duplex(nvlink.duplex)}};
  for (const NvLinkPair& pair : nvlink.pairs) {
    object["pairs"].push_back(
        {{"gpus", Ordered::array({pair.first, pair.second})}, {"links", pair.links}});
  }
  return object;
}

Ordered written_pcie(const Pcie& pcie) {
  Ordered object{{"bandwidth", written_rate(pcie.bandwidth)},
                 {"duplex", written_duplex(pcie.duplex)},
                 {"peer_access", pcie.peer_access}};
  if (pcie.peer_latency) object["peer_latency"] = written_time(*pcie.peer_latency);
  if (pcie.peer_access) object["peer_across_sockets"] = pcie.peer_across_sockets;
  for (const PcieSwitch& one : pcie.switches)
    object["switches"].push_back({{"gpus", one.gpus}, {"socket", one.socket}});
  if (pcie.uplink_bandwidth) object["uplink_bandwidth"] = written_rate(*pcie.uplink_bandwidth);
  if (pcie.socket_bandwidth) object["socket_bandwidth"] = written_rate(*pcie.socket_bandwidth);
  return object;
}

Ordered written_collectives(const CollectiveConstants& constants) {
  const RingConstants& ring = constants.ring;
  Ordered object{{"ring",
                  {{"alpha0", written_time(ring.alpha0)},
                   {"alpha1", written_time(ring.alpha1)},
                   {"efficiency", ring.efficiency},
                   {"kappa", ring.kappa},
                   {"gamma", written_root_time(ring.gamma)}}}};
  if (constants.nvls) {
    object["nvls"] = {{"alpha", written_time(constants.nvls->alpha)},
                      {"bandwidth", written_rate(constants.nvls->bandwidth)},
                      {"gamma", written_root_time(constants.nvls->gamma)},
                      {"least_gpus", constants.nvls->least_gpus}};
  }
  if (constants.network) {
    object["network"] = {{"alpha", written_time(constants.network->alpha)},
                         {"efficiency", constants.network->efficiency},
                         {"tree_efficiency", constants.network->tree_efficiency}};
  }
  return object;
}

}  // namespace

Ordered description_of(const Cluster& cluster) {
  Ordered object{{"name", cluster.name},
                 {"about", cluster.about},
                 {"nodes", cluster.nodes},
                 {"gpus", written_gpus(cluster.gpus)}};
  if (!cluster.known_error.empty()) object["known_error"] = cluster.known_error;
  if (cluster.compared) {
    object["compared"] = {{"models", cluster.compared->models},
                          {"dtypes", cluster.compared->dtypes},
                          {"modes", cluster.compared->modes}};
  }
  if (cluster.nvlink) object["nvlink"] = written_nvlink(*cluster.nvlink);
  object["pcie"] = written_pcie(cluster.pcie);
  object["host"] = {{"bandwidth", written_rate(cluster.host.bandwidth)},
                    {"total_bandwidth", written_rate(cluster.host.total_bandwidth)},
                    {"latency", written_time(cluster.host.latency)}};
  if (cluster.nics) {
    object["nics"] = {{"count", cluster.nics->count},
                      {"bandwidth", written_rate(cluster.nics->bandwidth)},
                      {"latency", written_time(cluster.nics->latency)}};
  }
  object["collectives"] = written_collectives(cluster.collectives);
  object["sources"] = Ordered(cluster.sources);
  return object;
}

}  // namespace tandem::sim
