// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "tandem/sim/cluster.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// A machine that need not be there: a preset, or a file that describes one.
struct ClusterChoice {
  std::string name;

  void add_flags(CLI::App& app);
  /// By --cluster or TANDEM_CLUSTER.
  bool is_given() const;
  /// The machine of that name, or else of TANDEM_CLUSTER.
  /// @throws UsageError  neither is given, or it names neither a preset nor a file. @throws
  /// FileError
  sim::Cluster cluster() const;
};

/// The cluster of a preset's or a file's name. @throws UsageError, FileError  as above
sim::Cluster named_cluster(const std::string& name);

/// The machine of the option --cluster, or of TANDEM_CLUSTER where neither that nor --devices is
/// given; none: there is neither.
/// @throws UsageError  both options are given, or as above. @throws FileError
std::optional<sim::Cluster> simulated_cluster(const std::string& name, const std::string& devices);

/// How many GPUs of the cluster are asked for; all unless a number is given.
/// @throws UsageError  it has fewer.
int asked_gpus(const sim::Cluster& cluster, std::optional<int> gpus);
/// The same where each GPU has a virtual device.
/// @throws UsageError  also if there are fewer virtual devices.
int asked_devices(const sim::Cluster& cluster, std::optional<int> gpus);

/// The description as an object that `tandem cluster check` reads, with a "schema_version".
nlohmann::json cluster_json(const sim::Cluster& cluster);

}  // namespace tandem::cli
