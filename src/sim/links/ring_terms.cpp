// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/links/ring_terms.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "tandem/core/check.hpp"
#include "tandem/sim/path.hpp"
#include "tandem/sim/rings.hpp"

namespace tandem::sim {
namespace {

/// What is left to each hop of a ring 0, 1, ..., n-1 if all hops are busy at once.
double shared_bandwidth(const Cluster& cluster, int n) {
  struct Use {
    double bandwidth = 0;
    int hops = 0;
  };
  std::map<std::string, Use> uses;
  for (int gpu = 0; gpu < n; ++gpu) {
    for (const PathPart& part : path(cluster, gpu, (gpu + 1) % n).parts) {
      Use& use = uses[part.name];
      use.bandwidth = part.bandwidth;
      ++use.hops;
    }
  }
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [name, use] : uses)
    least = std::min(least, use.bandwidth / use.hops);
  return least;
}

}  // namespace

RingLinks ring_links(const Cluster& cluster, int n) {
  if (cluster.nvlink) {  // a ring has an efficiency of its own, not that of a copy
    const double shared = cluster.nvlink->duplex == Duplex::full ? 1 : 2;
    const double bandwidth = cluster.nvlink->bandwidth / shared;
    if (cluster.nvlink->topology == NvLinkTopology::all_to_all)
      return {.bandwidth = cluster.nvlink->links_per_gpu * bandwidth, .is_chain = false};
    if (const int rings = ring_count(cluster, n); rings > 0)
      return {.bandwidth = rings * bandwidth, .is_chain = false};
    if (has_chain(cluster, n)) return {.bandwidth = bandwidth, .is_chain = true};
  }
  return {.bandwidth = shared_bandwidth(cluster, n), .is_chain = false};
}

RingTerms ring_terms(comm::Collective::Kind kind, int n, const RingLinks& links) {
  using enum comm::Collective::Kind;
  const double parts = n;
  switch (kind) {
    case all_reduce:  // along a chain both directions are busy at once
      if (links.is_chain) return {.steps = parts - 1, .volume = 1, .extra = 0};
      return {.steps = parts - 1, .volume = 2 * (parts - 1) / parts, .extra = 1 / parts};
    case reduce_scatter:
    case all_gather:
      if (links.is_chain) return {.steps = (parts - 1) / 2, .volume = 1, .extra = 0};
      return {.steps = (parts - 1) / 2, .volume = (parts - 1) / parts, .extra = 0.5 / parts};
    case broadcast:
    case reduce:
      return {.steps = (parts - 1) / 2, .volume = 1, .extra = 0};
    default:
      break;
  }
  throw InvalidArgument(detail::concat(
      "the time of ",
      comm::name(kind),
      " is not modelled; ask for all_reduce, reduce_scatter, all_gather, broadcast or reduce"));
}

double nvls_volume(int n) noexcept {
  return 1 + 1.0 / n;
}

}  // namespace tandem::sim
