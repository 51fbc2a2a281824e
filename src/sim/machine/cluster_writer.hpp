// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "tandem/sim/cluster.hpp"

namespace tandem::sim {

/// The description of a cluster as an object, with its fields in the order of docs/cluster.md.
nlohmann::ordered_json description_of(const Cluster& cluster);

}  // namespace tandem::sim
