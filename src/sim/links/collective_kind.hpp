// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "tandem/comm/collective.hpp"

namespace tandem::sim {

/// The kind of a recorded collective, by its name; none: it is not one.
inline std::optional<comm::Collective::Kind> collective_kind(std::string_view name) {
  for (int k = 0; k <= static_cast<int>(comm::Collective::Kind::barrier); ++k)
    if (comm::name(static_cast<comm::Collective::Kind>(k)) == name)
      return static_cast<comm::Collective::Kind>(k);
  return std::nullopt;
}

}  // namespace tandem::sim
