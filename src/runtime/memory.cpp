// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/memory.hpp"

#include <ostream>

namespace tandem {

const char* name(Category category) noexcept {
  constexpr std::array<const char*, kCategories> kNames{"parameter",
                                                        "gradient",
                                                        "optimizer",
                                                        "buffer",
                                                        "input",
                                                        "activation",
                                                        "output",
                                                        "output_gradient",
                                                        "communication",
                                                        "workspace"};
  return kNames[static_cast<std::size_t>(category)];
}

std::ostream& operator<<(std::ostream& s, Category category) {
  return s << name(category);
}

const char* name(Phase phase) noexcept {
  constexpr std::array<const char*, kPhases> kNames{
      "none", "scatter", "replicate", "forward", "gather", "loss", "backward", "reduce", "update"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::ostream& operator<<(std::ostream& s, Phase phase) {
  return s << name(phase);
}

}  // namespace tandem
