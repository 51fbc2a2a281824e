// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace tandem {

/// Between which values some integers lie.
struct IntegerBounds {
  std::int64_t least;
  std::int64_t greatest;
  /// The least but one and the greatest but one of the values that occur. If only one value occurs,
  /// both are that value.
  std::int64_t next_to_least;
  std::int64_t next_to_greatest;

  /// Whether each integer is in [0, size) or equal to `ignored`, as far as the bounds tell. False
  /// does not mean that one is outside.
  bool show_within(std::int64_t size, std::optional<std::int64_t> ignored) const noexcept {
    const std::int64_t low = least == ignored ? next_to_least : least;
    const std::int64_t high = greatest == ignored ? next_to_greatest : greatest;
    return low >= 0 && high < size;
  }
};

}  // namespace tandem
