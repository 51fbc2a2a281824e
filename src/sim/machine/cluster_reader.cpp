// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/machine/cluster_reader.hpp"

#include <optional>
#include <string>
#include <vector>

#include "tandem/core/check.hpp"

#include "sim/machine/fields.hpp"
#include "sim/machine/quantity.hpp"

namespace tandem::sim {
namespace {

const std::vector<std::pair<const char*, Duplex>> kDuplexes{{"full", Duplex::full},
                                                            {"half", Duplex::half}};

Peaks read_peaks(Fields f) {
  Peaks peak;
  peak.f32 = f.quantity("f32", Dimension::flops);
  peak.tf32 = f.optional_quantity("tf32", Dimension::flops);
  peak.bf16 = f.optional_quantity("bf16", Dimension::flops);
  peak.f16 = f.optional_quantity("f16", Dimension::flops);
  peak.f64 = f.optional_quantity("f64", Dimension::flops);
  f.finish();
  return peak;
}

Gpus read_gpus(Fields f) {
  Gpus gpus;
  gpus.name = f.text("name");
  if (f.has("kind"))
    gpus.kind = f.choice<GpuKind>("kind", {{"gpu", GpuKind::gpu}, {"host", GpuKind::host}});
  gpus.count = f.integer("count");
  gpus.multiprocessors = f.integer("multiprocessors");
  gpus.memory = f.quantity("memory", Dimension::bytes);
  gpus.reserved_memory = f.quantity("reserved_memory", Dimension::bytes);
  gpus.memory_bandwidth = f.quantity("memory_bandwidth", Dimension::bandwidth);
  gpus.peak = read_peaks(f.object("peak"));
  Fields efficiency = f.object("efficiency");
  gpus.efficiency.copy = efficiency.number("copy");
  gpus.efficiency.memory = efficiency.number("memory");
  gpus.efficiency.matmul = efficiency.number("matmul");
  gpus.efficiency.beside_collectives = efficiency.number("beside_collectives");
  efficiency.finish();
  Fields launch = f.object("launch");
  gpus.launch.gpu = launch.quantity("gpu", Dimension::time);
  gpus.launch.host = launch.quantity("host", Dimension::time);
  gpus.launch.host_backward = launch.optional_quantity("host_backward", Dimension::time);
  launch.finish();
  if (f.has("variation")) gpus.variation = f.number("variation");
  if (std::optional<Fields> half = f.optional_object("products")) {
    gpus.products = {half->number("m"), half->number("n"), half->number("k")};
    half->finish();
  }
  if (std::optional<Fields> cache = f.optional_object("cache")) {
    gpus.cache = {cache->quantity("size", Dimension::bytes),
                  cache->quantity("bandwidth", Dimension::bandwidth)};
    cache->finish();
  }
  if (std::optional<Fields> ops = f.optional_object("ops")) {
    for (const auto& [name, speed] : ops->json().items())
      gpus.ops[name] = ops->number(name.c_str());
  }
  f.finish();
  return gpus;
}

NvLinkPair read_pair(Fields f) {
  const std::vector<int> gpus = f.integers("gpus");
  if (gpus.size() != 2)
    refuse_field(f.path_of("gpus"), detail::concat("has ", gpus.size(), " GPUs; a pair has 2"));
  const NvLinkPair pair{.first = gpus[0], .second = gpus[1], .links = f.integer("links")};
  f.finish();
  return pair;
}

NvLinks read_nvlink(Fields f) {
  NvLinks nvlink;
  nvlink.topology = f.choice<NvLinkTopology>(
      "topology", {{"all_to_all", NvLinkTopology::all_to_all}, {"pairs", NvLinkTopology::pairs}});
  nvlink.links_per_gpu = f.integer("links_per_gpu");
  nvlink.bandwidth = f.quantity("bandwidth", Dimension::bandwidth);
  nvlink.latency = f.quantity("latency", Dimension::time);
  nvlink.duplex = f.choice("duplex", kDuplexes);
  for (const Fields& pair : f.objects("pairs"))
    nvlink.pairs.push_back(read_pair(pair));
  f.finish();
  return nvlink;
}

PcieSwitch read_switch(Fields f) {
  PcieSwitch found{.gpus = f.integers("gpus"), .socket = f.integer("socket")};
  f.finish();
  return found;
}

Pcie read_pcie(Fields f) {
  Pcie pcie;
  pcie.bandwidth = f.quantity("bandwidth", Dimension::bandwidth);
  pcie.duplex = f.choice("duplex", kDuplexes);
  pcie.peer_access = f.flag("peer_access");
  pcie.peer_latency = f.optional_quantity("peer_latency", Dimension::time);
  if (f.has("peer_across_sockets")) pcie.peer_across_sockets = f.flag("peer_across_sockets");
  for (const Fields& one : f.objects("switches"))
    pcie.switches.push_back(read_switch(one));
  pcie.uplink_bandwidth = f.optional_quantity("uplink_bandwidth", Dimension::bandwidth);
  pcie.socket_bandwidth = f.optional_quantity("socket_bandwidth", Dimension::bandwidth);
  f.finish();
  return pcie;
}

HostPath read_host(Fields f) {
  const HostPath host{.bandwidth = f.quantity("bandwidth", Dimension::bandwidth),
                      .total_bandwidth = f.quantity("total_bandwidth", Dimension::bandwidth),
                      .latency = f.quantity("latency", Dimension::time)};
  f.finish();
  return host;
}

Nics read_nics(Fields f) {
  const Nics nics{.count = f.integer("count"),
                  .bandwidth = f.quantity("bandwidth", Dimension::bandwidth),
                  .latency = f.quantity("latency", Dimension::time)};
  f.finish();
  return nics;
}

RingConstants read_ring(Fields f) {
  const RingConstants ring{.alpha0 = f.quantity("alpha0", Dimension::time),
                           .alpha1 = f.quantity("alpha1", Dimension::time),
                           .efficiency = f.number("efficiency"),
                           .kappa = f.number("kappa"),
                           .gamma = f.quantity("gamma", Dimension::root_time)};
  f.finish();
  return ring;
}

NvlsConstants read_nvls(Fields f) {
  const NvlsConstants nvls{.alpha = f.quantity("alpha", Dimension::time),
                           .bandwidth = f.quantity("bandwidth", Dimension::bandwidth),
                           .gamma = f.quantity("gamma", Dimension::root_time),
                           .least_gpus = f.integer("least_gpus")};
  f.finish();
  return nvls;
}

NetworkConstants read_network(Fields f) {
  const NetworkConstants network{.alpha = f.quantity("alpha", Dimension::time),
                                 .efficiency = f.number("efficiency"),
                                 .tree_efficiency = f.number("tree_efficiency")};
  f.finish();
  return network;
}

CollectiveConstants read_collectives(Fields f) {
  CollectiveConstants constants;
  constants.ring = read_ring(f.object("ring"));
  if (std::optional<Fields> nvls = f.optional_object("nvls")) constants.nvls = read_nvls(*nvls);
  if (std::optional<Fields> network = f.optional_object("network"))
    constants.network = read_network(*network);
  f.finish();
  return constants;
}

/// Whether a dotted path names a field of `object`.
bool names_field(const nlohmann::json& object, std::string_view path) {
  const std::size_t dot = path.find('.');
  const auto at = object.is_object() ? object.find(std::string(path.substr(0, dot))) : object.end();
  if (!object.is_object() || at == object.end()) return false;
  return dot == std::string_view::npos || names_field(*at, path.substr(dot + 1));
}

std::map<std::string, std::string> read_sources(Fields f, const nlohmann::json& description) {
  std::map<std::string, std::string> sources;
  for (const auto& [path, source] : f.json().items()) {
    if (!names_field(description, path))
      refuse_field("sources." + path, "the description has no field of this path");
    sources[path] = f.text(path.c_str());
  }
  return sources;
}

ComparedSteps read_compared(Fields& f) {
  ComparedSteps compared{f.texts("models"), f.texts("dtypes"), f.texts("modes")};
  f.finish();
  return compared;
}

}  // namespace

Cluster read_description(const nlohmann::json& object) {
  Fields f(object, "");
  if (f.has("schema_version") && f.integer("schema_version") != 1)
    refuse_field("schema_version", "must be 1, the only version that there is");
  Cluster cluster;
  cluster.name = f.text("name");
  if (f.has("about")) cluster.about = f.text("about");
  if (f.has("known_error")) cluster.known_error = f.text("known_error");
  if (std::optional<Fields> compared = f.optional_object("compared"))
    cluster.compared = read_compared(*compared);
  cluster.nodes = f.has("nodes") ? f.integer("nodes") : 1;
  cluster.gpus = read_gpus(f.object("gpus"));
  if (std::optional<Fields> nvlink = f.optional_object("nvlink"))
    cluster.nvlink = read_nvlink(*nvlink);
  cluster.pcie = read_pcie(f.object("pcie"));
  cluster.host = read_host(f.object("host"));
  if (std::optional<Fields> nics = f.optional_object("nics")) cluster.nics = read_nics(*nics);
  cluster.collectives = read_collectives(f.object("collectives"));
  if (std::optional<Fields> sources = f.optional_object("sources"))
    cluster.sources = read_sources(*sources, object);
  f.finish();
  return cluster;
}

}  // namespace tandem::sim
