// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Whether reduced dimensions are kept with size 1.
enum class KeepDims : std::uint8_t { no, yes };

/// Sums over `dims`, or over all dimensions if `dims` is empty. bool and integers sum in i64.
Tensor sum(const Tensor& x, const Dims& dims = {}, KeepDims keep = KeepDims::no);
/// @throws InvalidArgument  if x is not a float tensor.
Tensor mean(const Tensor& x, const Dims& dims = {}, KeepDims keep = KeepDims::no);
/// @param correction  1 for the unbiased variance (PyTorch's default), 0 for the biased one.
Tensor var(const Tensor& x,
           const Dims& dims = {},
           int correction = 1,
           KeepDims keep = KeepDims::no);
/// Square root of var. Its gradient is zero where the result is zero.
Tensor std(const Tensor& x,
           const Dims& dims = {},
           int correction = 1,
           KeepDims keep = KeepDims::no);
/// Largest and smallest element. Elements that tie share the gradient equally, as in PyTorch.
Tensor amax(const Tensor& x, const Dims& dims = {}, KeepDims keep = KeepDims::no);
Tensor amin(const Tensor& x, const Dims& dims = {}, KeepDims keep = KeepDims::no);
/// Index (i64) of the first largest element along `dim`. A NaN counts as largest.
Tensor argmax(const Tensor& x, int dim, KeepDims keep = KeepDims::no);
/// Index (i64) of the first smallest element along `dim`. A NaN counts as smallest.
Tensor argmin(const Tensor& x, int dim, KeepDims keep = KeepDims::no);

/// Elements along a dimension, and where they were.
struct ValuesIndices {
  Tensor values;
  Tensor indices;  ///< i64, off the tape
};
/// The first largest element along `dim`. A NaN counts as largest. The gradient goes only to that
/// element.
///
/// @throws InvalidArgument  if `dim` has size 0.
ValuesIndices max(const Tensor& x, int dim, KeepDims keep = KeepDims::no);
/// The first smallest element along `dim`; a NaN counts as smallest.
ValuesIndices min(const Tensor& x, int dim, KeepDims keep = KeepDims::no);

/// log(sum(exp(x))), computed without overflow.
Tensor logsumexp(const Tensor& x, const Dims& dims, KeepDims keep = KeepDims::no);
/// Sums `x` down to `shape`, which must broadcast to x's shape: the reverse of broadcasting.
Tensor sum_to(const Tensor& x, const Shape& shape);
/// Square root of the sum of squares of all elements of all tensors. Not on the tape.
Tensor global_norm(const std::vector<Tensor>& tensors);

}  // namespace tandem
