// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace tandem::sim
