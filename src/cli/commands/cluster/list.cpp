// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <vector>

#include "tandem/sim/cluster.hpp"
#include "tandem/sim/presets.hpp"

#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"

namespace tandem::cli {
namespace {

struct ClusterListRequest {
  JsonChoice json;

  void add_flags(CLI::App& app) { json.add_flags(app); }
  int run() const;
};

int ClusterListRequest::run() const {
  check_files({json.given_file()});
  std::vector<sim::Cluster> all;
  for (const std::string& name : sim::preset_names())
    all.push_back(sim::preset(name));
  json.write([&] {
    nlohmann::json rows = nlohmann::json::array();
    for (const sim::Cluster& c : all)
      rows.push_back({{"name", c.name},
                      {"about", c.about},
                      {"nodes", c.nodes},
                      {"gpus_per_node", c.gpus.count},
                      {"gpu", c.gpus.name}});
    return nlohmann::json{{"schema_version", 1}, {"clusters", rows}};
  });
  if (!json.leaves_text()) return 0;
  for (const sim::Cluster& c : all)
    console::print("{:<24} {}\n", c.name, c.about);
  return 0;
}

}  // namespace

Command cluster_list_command() {
  return make_command<ClusterListRequest>({.name = "cluster list",
                                           .summary = "list the machines that tandem knows",
                                           .purpose = Purpose::machines});
}

}  // namespace tandem::cli
