// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/cluster.hpp"

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tandem/sim/path.hpp"
#include "tandem/sim/presets.hpp"

#include "cli/choices/cluster_choice.hpp"
#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/usage_error.hpp"
#include "sim/machine/quantity.hpp"

namespace tandem::cli {
namespace {

using Json = nlohmann::json;
using sim::Cluster;
using sim::Dimension;
using sim::format_quantity;

constexpr int kMostDrawn = 16;  // GPUs of a node whose paths are printed

struct ClusterRequest {
  std::string action;
  std::string name;
  JsonChoice json;

  void add_flags(CLI::App& app) {
    app.add_option("ACTION",
                   action,
                   "list: the machines that tandem knows; show NAME: one of them, or a file; "
                   "check FILE: whether a description is possible")
        ->required()
        ->check(CLI::IsMember({"list", "show", "check"}));
    app.add_option("NAME", name, "a preset, or a file that describes a machine");
    json.add_flags(app);
  }
  int run() const;
};

void list_clusters(const JsonChoice& output) {
  std::vector<Cluster> all;
  for (const std::string& name : sim::preset_names())
    all.push_back(sim::preset(name));
  output.write([&] {
    Json rows = Json::array();
    for (const Cluster& c : all)
      rows.push_back({{"name", c.name},
                      {"about", c.about},
                      {"nodes", c.nodes},
                      {"gpus_per_node", c.gpus.count},
                      {"gpu", c.gpus.name}});
    return Json{{"schema_version", 1}, {"clusters", rows}};
  });
  if (!output.leaves_text()) return;
  for (const Cluster& c : all)
    console::print("{:<24} {}\n", c.name, c.about);
}

std::string peak_text(const sim::Peaks& peak) {
  std::string text = "f32 " + format_quantity(Dimension::flops, peak.f32);
  const auto add = [&](const char* name, const std::optional<double>& one) {
    if (one) text += fmt::format(", {} {}", name, format_quantity(Dimension::flops, *one));
  };
  add("tf32", peak.tf32);
  add("bf16", peak.bf16);
  add("f16", peak.f16);
  add("f64", peak.f64);
  return text;
}

/// What a copy between each two GPUs of a node goes by, as nvidia-smi topo prints it.
void print_paths(const Cluster& c) {
  const int n = std::min(c.gpus.count, kMostDrawn);
  if (n < 2) return;
  console::print("\nGB/s     ");
  for (int to = 0; to < n; ++to)
    console::print("{:>9}", fmt::format("GPU {}", to));
  for (int from = 0; from < n; ++from) {
    console::print("\nGPU {:<5}", from);
    for (int to = 0; to < n; ++to) {
      if (to == from) {
        console::print("{:>9}", "-");
        continue;
      }
      const sim::Path path = sim::path(c, from, to);
      const char* kind = path.kind == sim::PathKind::nvlink ? "NV"
                         : path.kind == sim::PathKind::pcie ? "PCIe"
                                                            : "host";
      console::print("{:>9}", fmt::format("{} {:g}", kind, path.bandwidth() * 1e-9));
    }
  }
  console::print("\n");
}

void print_cluster(const Cluster& c) {
  const sim::Gpus& g = c.gpus;
  const auto rate = [](double value) { return format_quantity(Dimension::bandwidth, value); };
  console::print("{}: {}\n\n", console::shown(c.name), console::shown(c.about));
  console::print("GPUs      {} x {} of {} multiprocessors in each node; nodes: {}\n",
                 g.count,
                 console::shown(g.name),
                 g.multiprocessors,
                 c.nodes);
  console::print("memory    {}, of which {} are reserved; {}\n",
                 format_quantity(Dimension::bytes, g.memory),
                 format_quantity(Dimension::bytes, g.reserved_memory),
                 rate(g.memory_bandwidth));
  console::print("peak      {}\n", peak_text(g.peak));
  console::print("reached   {:g} of copies, {:g} of memory, {:g} of products\n",
                 g.efficiency.copy,
                 g.efficiency.memory,
                 g.efficiency.matmul);
  if (c.nvlink)
    console::print("NVLink    {} x {} of each GPU, {}\n",
                   c.nvlink->links_per_gpu,
                   rate(c.nvlink->bandwidth),
                   c.nvlink->topology == sim::NvLinkTopology::pairs ? "between pairs" : "to all");
  console::print("PCIe      {}, {} peer access; {} through the host\n",
                 rate(c.pcie.bandwidth),
                 c.pcie.peer_access ? "with" : "without",
                 rate(c.host.bandwidth));
  if (c.nics)
    console::print("network   {} x {} of each node\n", c.nics->count, rate(c.nics->bandwidth));
  print_paths(c);
}

void check_cluster(const std::string& path, const JsonChoice& output) {
  const Cluster c = sim::read_cluster(path);
  const std::vector<std::string> missing = sim::figures_without_source(c);
  output.write([&] {
    return Json{{"schema_version", 1},
                {"name", c.name},
                {"gpus", c.gpu_count()},
                {"figures_without_source", missing}};
  });
  if (!output.leaves_text()) return;
  console::print("{} is possible: {} GPUs\n", console::shown(c.name), c.gpu_count());
  for (const std::string& figure : missing)
    console::print("{} has no source\n", figure);
}

int ClusterRequest::run() const {
  if (action == "list" && !name.empty())
    throw UsageError(fmt::format("'{}' is too much: list takes no name", name));
  if (action != "list" && name.empty())
    throw UsageError(fmt::format(
        "{} needs the name of a {}", action, action == "show" ? "machine or a file" : "file"));
  check_files({json.given_file()});
  if (action == "list") list_clusters(json);
  if (action == "check") check_cluster(name, json);
  if (action != "show") return 0;
  const Cluster c = named_cluster(name);
  json.write([&] { return cluster_json(c); });
  if (json.leaves_text()) print_cluster(c);
  return 0;
}

}  // namespace

Command cluster_command() {
  return make_command<ClusterRequest>(
      "cluster", "list, show or check descriptions of machines that need not be there");
}

}  // namespace tandem::cli
