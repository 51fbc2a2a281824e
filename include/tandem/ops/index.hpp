// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Joins along an existing dimension.
Tensor cat(const std::vector<Tensor>& tensors, int dim = 0);
/// Joins along a new dimension.
Tensor stack(const std::vector<Tensor>& tensors, int dim = 0);
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
/// i64 (..., num_classes): 1 at each entry's class, otherwise 0.
///
/// @param index  integers in [0, num_classes)
/// @throws InvalidArgument  if an entry is outside; the message has its row and value.
Tensor one_hot(const Tensor& index, std::int64_t num_classes);
/// The reverse of slice: a tensor of `shape` that is zero except for its slice `range` of `dim`,
/// which is `x`.
Tensor slice_backward(const Tensor& x, const Shape& shape, int dim, Slice range);

}  // namespace tandem
