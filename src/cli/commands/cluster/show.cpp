// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "tandem/sim/cluster.hpp"
#include "tandem/sim/path.hpp"

#include "cli/choices/cluster_choice.hpp"
#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "sim/machine/quantity.hpp"

namespace tandem::cli {
namespace {

using sim::Cluster;
using sim::Dimension;
using sim::format_quantity;

constexpr int kMostDrawn = 16;  // GPUs of a node whose paths are printed

struct ClusterShowRequest {
  std::string name;
  JsonChoice json;

  void add_flags(CLI::App& app) {
    app.add_option("NAME", name, "a preset, or a file that describes a machine")->required();
    json.add_flags(app);
  }
  int run() const;
};

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

int ClusterShowRequest::run() const {
  check_files({json.given_file()});
  const Cluster c = named_cluster(name);
  json.write([&] { return cluster_json(c); });
  if (json.leaves_text()) print_cluster(c);
  return 0;
}

}  // namespace

Command cluster_show_command() {
  return make_command<ClusterShowRequest>({.name = "cluster show",
                                           .summary = "show one of them, or a file's machine",
                                           .purpose = Purpose::machines});
}

}  // namespace tandem::cli
