// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/simulation/simulated_collectives.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "tandem/comm/algorithms.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/sim/collective_model.hpp"
#include "tandem/sim/configure.hpp"
#include "tandem/sim/simulate.hpp"
#include "tandem/tensor/factories.hpp"

#include "cli/console.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

using comm::Collective;
using Kind = Collective::Kind;

/// In place; of all-gather and reduce-scatter each rank has an equal part.
Collective collective_of(Kind kind, const Tensor& x, int rank, int ranks) {
  const std::int64_t share = x.numel() / ranks;
  switch (kind) {
    case Kind::broadcast:
      return Collective::broadcast(x, 0);
    case Kind::reduce:
      return Collective::reduce(x, comm::ReduceOp::sum, 0);
    case Kind::all_gather:
      return Collective::all_gather(x.narrow(0, rank * share, share), x);
    case Kind::reduce_scatter:
      return Collective::reduce_scatter(x, x.narrow(0, rank * share, share));
    default:
      return Collective::all_reduce(x);
  }
}

bool is_cut(Kind kind) noexcept {
  return kind == Kind::all_gather || kind == Kind::reduce_scatter;
}

/// Elements of the whole array, an equal part for each rank that has one.
std::int64_t count_of(const CollectivesSetup& setup, std::size_t nbytes, int ranks) {
  const std::int64_t multiple = is_cut(setup.kind) ? ranks : 1;
  const auto count = static_cast<std::int64_t>(nbytes / itemsize(setup.dtype));
  return std::max<std::int64_t>(count / multiple, 1) * multiple;
}

comm::Problem problem_of(const CollectivesSetup& setup, std::int64_t count, int ranks) {
  const auto size = static_cast<std::int64_t>(itemsize(setup.dtype));
  return {.kind = setup.kind,
          .ranks = ranks,
          .count = count,
          .segment = std::max<std::int64_t>(1, setup.group.segment_bytes / size),
          .group = setup.group.group};
}

/// Those that can do it. What no algorithm has is direct.
std::vector<std::string> algorithms_for(const CollectivesSetup& setup, int ranks) {
  const comm::Problem problem = problem_of(setup, 1, ranks);
  if (is_cut(setup.kind)) {
    if (!setup.algorithm.empty() && setup.algorithm != "direct")
      throw UsageError(comm::algorithm(setup.algorithm).refusal(problem));
    return {"direct"};
  }
  std::vector<std::string> names;
  for (const comm::Algorithm* one : comm::algorithms()) {
    const std::string name = one->name();
    const bool is_asked =
        setup.algorithm.empty() ? name != "native" : setup.algorithm == name;  // native is direct
    if (!is_asked) continue;
    const std::string refusal = one->refusal(problem);
    if (refusal.empty()) names.push_back(name);
    if (!refusal.empty() && !setup.algorithm.empty()) throw UsageError(refusal);
  }
  return names;
}

double seconds_of(const CollectivesSetup& setup,
                  const sim::ClusterDevices& devices,
                  const std::string& algorithm,
                  std::int64_t count) {
  comm::GroupOptions options = setup.group;
  options.algorithm = algorithm;
  const auto ranks = comm::make_group(devices.gpus, options);
  std::vector<Tensor> own;
  for (const auto& rank : ranks)
    own.push_back(empty({count}, {.dtype = setup.dtype, .device = rank->device()}));
  const profile::StepRecord record = profile::record([&] {
    std::vector<comm::Handle> handles;
    for (std::size_t r = 0; r < ranks.size(); ++r)
      handles.push_back(ranks[r]->start(
          collective_of(setup.kind, own[r], static_cast<int>(r), static_cast<int>(ranks.size()))));
    for (comm::Handle& handle : handles)
      handle.wait();
  });
  const profile::StepRecord played = sim::simulate(
      record, devices.cluster, devices.gpus, {.collectives = sim::CollectiveTimes::as_run});
  const profile::SideSpan& whole = played.side_work.front();
  return static_cast<double>((whole.end - whole.begin).count()) * 1e-9;
}

}  // namespace

std::vector<SimulatedCollective> simulate_collectives(const CollectivesSetup& setup,
                                                      const sim::Cluster& cluster,
                                                      int gpus) {
  const std::vector<std::string> names = algorithms_for(setup, gpus);
  const sim::ClusterDevices devices = sim::configure_cluster(cluster, gpus);
  const sim::CollectiveModel library(cluster, gpus);
  std::vector<SimulatedCollective> all;
  for (const std::size_t size : setup.sizes) {
    const std::int64_t count = count_of(setup, size, gpus);
    const std::size_t nbytes = static_cast<std::size_t>(count) * itemsize(setup.dtype);
    for (const std::string& name : names) {
      const std::int64_t steps =
          is_cut(setup.kind) ? 1 : comm::algorithm(name).cost(problem_of(setup, count, gpus)).steps;
      all.push_back({.nbytes = nbytes,
                     .algorithm = name,
                     .steps = steps,
                     .seconds = seconds_of(setup, devices, name, count)});
    }
    const sim::AlgorithmTime best = library.time(setup.kind, nbytes);
    all.push_back({.nbytes = nbytes,
                   .algorithm = best.algorithm,
                   .is_library = true,
                   .seconds = best.seconds});
  }
  return all;
}

nlohmann::json to_json(const std::vector<SimulatedCollective>& all,
                       const CollectivesSetup& setup,
                       const sim::Cluster& cluster,
                       int gpus) {
  nlohmann::json rows = nlohmann::json::array();
  for (const SimulatedCollective& one : all)
    rows.push_back({{"op", comm::name(setup.kind)},
                    {"bytes", one.nbytes},
                    {"algorithm", one.algorithm},
                    {"collectives", one.is_library ? "library" : "as-run"},
                    {"steps", one.is_library ? nlohmann::json() : nlohmann::json(one.steps)},
                    {"time_us", one.seconds * 1e6}});
  return {{"schema_version", 1},
          {"simulated", true},
          {"cluster", cluster.name},
          {"ranks", gpus},
          {"dtype", name(setup.dtype)},
          {"rows", std::move(rows)}};
}

void print(const std::vector<SimulatedCollective>& all,
           const CollectivesSetup& setup,
           const sim::Cluster& cluster,
           int gpus) {
  console::print("{} among {} GPUs of {}, {}: simulated, no GPU was used\n\n",
                 comm::name(setup.kind),
                 gpus,
                 console::shown(cluster.name),
                 name(setup.dtype));
  console::print(
      "{:>12}  {:<20} {:>7} {:>12} {:>10}\n", "bytes", "algorithm", "steps", "us", "algbw GB/s");
  for (const SimulatedCollective& one : all)
    console::print("{:>12}  {:<20} {:>7} {:>12.1f} {:>10.2f}\n",
                   one.nbytes,
                   one.is_library ? "library's " + one.algorithm : one.algorithm,
                   one.is_library ? "-" : std::to_string(one.steps),
                   one.seconds * 1e6,
                   one.seconds > 0 ? static_cast<double>(one.nbytes) / one.seconds * 1e-9 : 0);
}

}  // namespace tandem::cli
