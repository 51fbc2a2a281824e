// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/sim/cluster.hpp"

namespace tandem::sim {

/// The names of the machines that tandem knows, sorted.
std::vector<std::string> preset_names();

/// The description of a machine that tandem knows. @throws InvalidArgument  there is none of this
/// name.
Cluster preset(std::string_view name);

/// The preset of this name, or else the description in the file of this name.
///
/// @throws InvalidArgument  there is neither. @throws FileError  as read_cluster.
Cluster find_cluster(const std::string& name_or_path);

/// The machine that the environment variable TANDEM_CLUSTER names, as a preset or a file; nothing
/// if it is not set or empty.
///
/// @throws InvalidArgument, FileError  as find_cluster; the text of the former names
/// TANDEM_CLUSTER.
std::optional<Cluster> cluster_of_environment();

}  // namespace tandem::sim
