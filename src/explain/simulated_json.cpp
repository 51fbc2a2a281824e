// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "explain/simulated_json.hpp"

#include <nlohmann/json.hpp>

namespace tandem::parallel {

nlohmann::json simulated_json(const std::optional<profile::SimulatedMachine>& machine) {
  using Json = nlohmann::json;
  if (!machine) return nullptr;
  return {{"cluster", machine->name},
          {"gpus", machine->gpus},
          {"collectives", machine->collectives_as_run ? "as-run" : "library"},
          {"known_error", machine->known_error.empty() ? Json() : Json(machine->known_error)}};
}

}  // namespace tandem::parallel
