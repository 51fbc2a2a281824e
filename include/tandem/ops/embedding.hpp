// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Looks up the row of `weight` for every entry of `index`. Returns (..., width).
///
/// The gradient of a row is summed over its occurrences in order, so every run gives the same bits.
/// @param index        integers, any shape
/// @param weight       (vocabulary, width)
/// @param padding_idx  a row that gets no gradient; negative values count from the end
/// @throws InvalidArgument  if an index is outside [0, vocabulary); the message has its value, row
///                          and place.
Tensor embedding(const Tensor& index,
                 const Tensor& weight,
                 std::optional<std::int64_t> padding_idx = std::nullopt);

}  // namespace tandem
