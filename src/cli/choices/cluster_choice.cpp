// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/cluster_choice.hpp"

#include <CLI/CLI.hpp>

#include "tandem/core/check.hpp"
#include "tandem/sim/configure.hpp"
#include "tandem/sim/presets.hpp"

#include "cli/subject.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

/// @throws UsageError  it names nothing that there is.
std::optional<sim::Cluster> cluster_of_environment() {
  try {
    return sim::cluster_of_environment();
  } catch (const InvalidArgument& e) {
    throw UsageError(e.what());
  }
}

}  // namespace

void ClusterChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::machine);
  app.add_option("--cluster",
                 name,
                 "machine to simulate: a preset (tandem cluster list), or a file that describes "
                 "one. Default: TANDEM_CLUSTER");
}

bool ClusterChoice::is_given() const {
  return !name.empty() || cluster_of_environment();
}

sim::Cluster ClusterChoice::cluster() const {
  const std::optional<sim::Cluster> given = simulated_cluster(name, "");
  if (!given) throw UsageError("there is no machine to simulate; give --cluster");
  return *given;
}

std::optional<sim::Cluster> simulated_cluster(const std::string& name, const std::string& devices) {
  if (!name.empty() && !devices.empty())
    throw UsageError(
        "--devices are of this machine, and --cluster names another one; give one of them, and "
        "--gpus for a part of the cluster");
  if (!name.empty()) return named_cluster(name);
  return devices.empty() ? cluster_of_environment() : std::nullopt;
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

int asked_devices(const sim::Cluster& cluster, std::optional<int> gpus) {
  const int count = asked_gpus(cluster, gpus);
  if (count > sim::kMaxGpus)
    throw UsageError(tandem::detail::concat(cluster.name,
                                            " would be simulated with ",
                                            count,
                                            " of its ",
                                            cluster.gpu_count(),
                                            " GPUs, and virtual devices stand for at most ",
                                            sim::kMaxGpus,
                                            "; give --gpus with at most that many"));
  return count;
}

nlohmann::json cluster_json(const sim::Cluster& cluster) {
  nlohmann::json object = nlohmann::json::parse(sim::to_json(cluster));
  object["schema_version"] = 1;
  return object;
}

}  // namespace tandem::cli
