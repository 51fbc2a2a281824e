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
/// A zero tensor of `shape` whose slice `range` of `dim` is `x`: the reverse of slice.
Tensor slice_backward(const Tensor& x, const Shape& shape, int dim, Slice range);

}  // namespace tandem
