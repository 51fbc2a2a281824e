// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/cluster_choice.hpp"

#include <CLI/CLI.hpp>

#include "tandem/core/check.hpp"
#include "tandem/sim/presets.hpp"

#include "cli/usage_error.hpp"

namespace tandem::cli {

void ClusterChoice::add_flags(CLI::App& app) {
  app.add_option(
         "--cluster",
         name,
         "machine to simulate: a preset (tandem cluster list), or a file that describes one")
      ->envname("TANDEM_CLUSTER")
      ->required();
}

sim::Cluster ClusterChoice::cluster() const {
  return named_cluster(name);
}

sim::Cluster named_cluster(const std::string& name) {
  try {
    return sim::find_cluster(name);
  } catch (const InvalidArgument& e) {
    throw UsageError(e.what());
  }
}

int asked_gpus(const sim::Cluster& cluster, std::optional<int> gpus) {
  const int count = gpus.value_or(cluster.gpu_count());
  if (count > cluster.gpu_count())
    throw UsageError(tandem::detail::concat(
        "--gpus is ", count, ", and ", cluster.name, " has ", cluster.gpu_count(), " GPUs"));
  return count;
}

nlohmann::json cluster_json(const sim::Cluster& cluster) {
  nlohmann::json object = nlohmann::json::parse(sim::to_json(cluster));
  object["schema_version"] = 1;
  return object;
}

}  // namespace tandem::cli
