// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::world {

/// The names in a list of nodes as Slurm writes it: "n[1-2,7]" is n1, n2, n7, and "a,b[01-03]" is
/// a, b01, b02, b03.
///
/// @throws InvalidArgument  it is not such a list, or has more than 100,000 nodes.
std::vector<std::string> expand_node_list(std::string_view list);

}  // namespace tandem::world
