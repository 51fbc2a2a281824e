// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Rows of `weight` by `index`: (..., width).
///
/// The gradient of a row is the sum over its occurrences in their order: the same bits in every
/// run.
/// @param index        of integers, any shape.
/// @param weight       (vocabulary, width).
/// @param padding_idx  an entry that gets no gradient; negative values count from the end.
/// @throws InvalidArgument  an index outside of [0, vocabulary): its value, row and place are
/// named.
Tensor embedding(const Tensor& index,
                 const Tensor& weight,
                 std::optional<std::int64_t> padding_idx = std::nullopt);

}  // namespace tandem
