// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "tandem/sim/cluster.hpp"

namespace tandem::sim {

/// The cluster that an object describes, with its values not yet checked.
///
/// @throws InvalidArgument  with the path of a field that is missing, unknown, or of another type.
Cluster read_description(const nlohmann::json& object);

}  // namespace tandem::sim
