// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tandem/sim/cluster.hpp"

#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"

namespace tandem::cli {
namespace {

struct ClusterCheckRequest {
  std::string path;
  JsonChoice json;

  void add_flags(CLI::App& app) {
    app.add_option("FILE", path, "a file that describes a machine")->required();
    json.add_flags(app);
  }
  int run() const;
};

int ClusterCheckRequest::run() const {
  check_files({json.given_file()});
  const sim::Cluster c = sim::read_cluster(path);
  const std::vector<std::string> missing = sim::figures_without_source(c);
  json.write([&] {
    return nlohmann::json{{"schema_version", 1},
                          {"name", c.name},
                          {"gpus", c.gpu_count()},
                          {"figures_without_source", missing}};
  });
  if (!json.leaves_text()) return 0;
  console::print("{} is possible: {} GPUs\n", console::shown(c.name), c.gpu_count());
  for (const std::string& figure : missing)
    console::print("{} has no source\n", figure);
  return 0;
}

}  // namespace

Command cluster_check_command() {
  return make_command<ClusterCheckRequest>({.name = "cluster check",
                                            .summary = "say whether a description is possible",
                                            .purpose = Purpose::machines});
}

}  // namespace tandem::cli
