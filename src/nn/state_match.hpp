// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tandem/nn/state_dict.hpp"

namespace tandem::nn {

/// What a state dict has for a module, before anything is copied.
struct StateMatch {
  std::vector<std::pair<Tensor, Tensor>> copies;  // target, source
  std::vector<std::string> wrong;
  LoadReport report;
};

/// Compares the names and shapes of a module's own tensors with those of a given dict.
StateMatch match(const StateDict& own, const StateDict& state);

}  // namespace tandem::nn
