// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tandem/world/launch.hpp"

#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"

namespace tandem::cli {
namespace {

struct EnvRequest {
  JsonChoice json;

  void add_flags(CLI::App& app) { json.add_flags(app); }
  int run() const;
};

nlohmann::json to_json(const std::optional<world::Launch>& launch) {
  nlohmann::json report{{"schema_version", 1}, {"launcher", nullptr}};
  if (!launch) return report;
  report["launcher"] = launch->launcher;
  report["rank"] = launch->rank;
  report["world_size"] = launch->size;
  report["local_rank"] = launch->local_rank;
  report["local_world_size"] = launch->local_size;
  report["node"] = launch->node;
  report["nodes"] = launch->nodes;
  report["restart"] = launch->restart;
  if (launch->store)
    report["store"] = {{"address", to_string(*launch->store)},
                       {"served_by", launch->launcher_serves ? "launcher" : "rank 0"}};
  return report;
}

int EnvRequest::run() const {
  const std::optional<world::Launch> launch = world::read_launch();
  check_files({json.given_file()});
  json.write([&] { return to_json(launch); });
  if (json.leaves_text())
    console::print("{}\n",
                   launch ? launch->describe()
                          : "no launcher has started this process: it runs alone (looked for "
                            "torchrun, tandem launch, mpirun, horovodrun, PMI and srun)");
  return 0;
}

}  // namespace

Command env_command() {
  return make_command<EnvRequest>(
      {.name = "env",
       .summary = "print what this process's launcher says: rank, meeting place",
       .purpose = Purpose::processes});
}

}  // namespace tandem::cli
