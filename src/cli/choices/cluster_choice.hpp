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
  /// @throws UsageError  there is neither a preset nor a file of the name. @throws FileError
  sim::Cluster cluster() const;
};

/// The cluster of a preset's or a file's name. @throws UsageError, FileError  as above
sim::Cluster named_cluster(const std::string& name);

/// How many GPUs of the cluster are asked for; all unless a number is given.
/// @throws UsageError  it has fewer.
int asked_gpus(const sim::Cluster& cluster, std::optional<int> gpus);

/// The description as an object that `tandem cluster check` reads, with a "schema_version".
nlohmann::json cluster_json(const sim::Cluster& cluster);

}  // namespace tandem::cli
