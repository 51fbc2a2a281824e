// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/nn/state_dict.hpp"

namespace tandem::nn {

/// A tensor of a saved state, without its elements.
struct GivenTensor {
  std::string_view name;
  const Shape* shape = nullptr;  ///< null: undefined
};

/// What a saved state has for a module, before anything is copied.
struct StateMatch {
  /// A tensor of the module, and the index of what it gets. In the order of the module.
  std::vector<std::pair<NamedTensor, std::size_t>> copies;
  std::vector<std::string> wrong;
  LoadReport report;
};

/// Compares the names and shapes of a module's own tensors with those that are given.
StateMatch match(const StateDict& own, const std::vector<GivenTensor>& given);

/// @param type_name  the module's. @throws InvalidArgument  they do not fit.
void check_match(const char* type_name, const StateMatch& found, Strict strict);

}  // namespace tandem::nn
