// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Joins along an existing dimension.
Tensor cat(const std::vector<Tensor>& parts, int dim = 0);
/// Joins along a new dimension.
Tensor stack(const std::vector<Tensor>& parts, int dim = 0);
/// Cuts x into views of the given sizes along `dim`.
///
/// @throws InvalidArgument  if the sizes do not add up to the size of `dim`.
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int dim = 0);
/// Picks entries along `dim` by a 1-D index of integers.
Tensor index_select(const Tensor& x, int dim, const Tensor& index);
/// out[..., i, ...] = x[..., index[..., i, ...], ...] along `dim`, as torch.gather. `index` holds
/// integers.
Tensor gather(const Tensor& x, int dim, const Tensor& index);
/// A copy of `x` with out[..., index[...], ...] += source[...] along `dim`.
Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source);
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
/// i64 (..., num_classes): 1 at each entry's class, otherwise 0.
///
/// @param index  integers in [0, num_classes)
/// @throws InvalidArgument  if an entry is outside; the message has its row and value.
Tensor one_hot(const Tensor& index, std::int64_t num_classes);
/// The reverse of slice: a tensor of `shape` that is zero except for its slice `range` of `dim`,
/// which is `x`.
Tensor slice_backward(const Tensor& x, const Shape& shape, int dim, Slice range);

}  // namespace tandem
