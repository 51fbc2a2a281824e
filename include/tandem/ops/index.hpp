// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Joins along an existing dimension.
Tensor cat(const std::vector<Tensor>& parts, int dim = 0);
/// Joins along a new one.
Tensor stack(const std::vector<Tensor>& parts, int dim = 0);
/// Pieces of the given sizes along `dim`: views. @throws InvalidArgument  sizes do not add up.
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int dim = 0);
/// Entries of `dim` by a 1-D i64 index.
Tensor index_select(const Tensor& x, int dim, const Tensor& index);
/// out[..., i, ...] = x[..., index[..., i, ...], ...] along `dim` (torch.gather). `index` is i64.
Tensor gather(const Tensor& x, int dim, const Tensor& index);
/// A copy of `x` with out[..., index[...], ...] += source[...] along `dim`.
Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source);
/// The lower triangle of the last two dimensions, zero above it. @param diagonal  the last one
/// kept: 0 is the main one, those above count up.
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);
/// The upper triangle. @param diagonal  the first one kept.
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);
/// A bool tensor (rows, cols) that holds where tril keeps: with diagonal 0 what causal attention
/// sees.
Tensor tril_mask(std::int64_t rows,
                 std::int64_t cols,
                 std::int64_t diagonal = 0,
                 Device device = get_default_device());
Tensor triu_mask(std::int64_t rows,
                 std::int64_t cols,
                 std::int64_t diagonal = 0,
                 Device device = get_default_device());
/// 1 at each entry's class, else 0: i64 (..., num_classes). @param index  integers in [0,
/// num_classes).
///
/// @throws InvalidArgument  an entry is outside; row and entry are named.
Tensor one_hot(const Tensor& index, std::int64_t num_classes);
/// A zero tensor of `shape` whose slice `range` of `dim` is `x`: the reverse of slice.
Tensor slice_backward(const Tensor& x, const Shape& shape, int dim, Slice range);

}  // namespace tandem
