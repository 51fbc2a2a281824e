// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "tandem/profile/step_record.hpp"

namespace tandem::parallel {

/// {"cluster": "a100-80x8", "gpus": 8, ...}; null if times were measured.
nlohmann::json simulated_json(const std::optional<profile::SimulatedMachine>& machine);

}  // namespace tandem::parallel
