// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "tandem/core/check.hpp"

namespace tandem::datasets {

/// Throws InvalidArgument unless every index is in [0, size).
inline void check_indices(std::span<const std::int64_t> indices, std::int64_t size) {
  for (const std::int64_t i : indices) {
    TANDEM_CHECK(i >= 0 && i < size,
                 "Dataset::get: index ",
                 i,
                 " is outside a data set of ",
                 size,
                 " samples");
  }
}

}  // namespace tandem::datasets
