// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

#include "kernels/sort.hpp"

namespace tandem {

/// The indices (i64, off the tape) of the first `k` elements along `dim` by `ranking`.
Tensor topk_indices(
    const char* name, kernels::Ranking ranking, const Tensor& x, std::int64_t k, int dim);

}  // namespace tandem
