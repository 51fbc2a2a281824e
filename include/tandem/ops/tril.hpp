// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// The lower triangle of the last two dimensions, with zeros above it.
///
/// @param diagonal  The highest diagonal that is kept: 0 is the main one, 1 the one above it.
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);
/// The upper triangle of the last two dimensions, with zeros below it.
///
/// @param diagonal  The lowest diagonal that is kept.
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);
/// Bool tensors (rows, cols) that are true where tril or triu keeps an element. tril_mask with
/// diagonal 0 is true where causal attention sees.
Tensor tril_mask(std::int64_t rows,
                 std::int64_t cols,
                 std::int64_t diagonal = 0,
                 Device device = get_default_device());
Tensor triu_mask(std::int64_t rows,
                 std::int64_t cols,
                 std::int64_t diagonal = 0,
                 Device device = get_default_device());

}  // namespace tandem
