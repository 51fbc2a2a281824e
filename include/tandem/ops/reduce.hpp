// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// What becomes of reduced dimensions.
enum class KeepDims : std::uint8_t { no, yes };

/// Over `dims` (all if empty). bool and integers sum in i64.
Tensor sum(const Tensor& x, const Dims& dims = {}, KeepDims keep = KeepDims::no);
/// @throws InvalidArgument  not a float tensor.
Tensor mean(const Tensor& x, const Dims& dims = {}, KeepDims keep = KeepDims::no);
/// @param correction  1: unbiased (PyTorch's default); 0: biased.
Tensor var(const Tensor& x,
           const Dims& dims = {},
           int correction = 1,
           KeepDims keep = KeepDims::no);
/// Square root of var; its gradient is zero where it is zero.
Tensor std(const Tensor& x,
           const Dims& dims = {},
           int correction = 1,
           KeepDims keep = KeepDims::no);
/// Largest and smallest; the gradient goes in equal parts to all that tie (PyTorch's amax).
Tensor amax(const Tensor& x, const Dims& dims = {}, KeepDims keep = KeepDims::no);
Tensor amin(const Tensor& x, const Dims& dims = {}, KeepDims keep = KeepDims::no);
/// Index (i64) of the first largest along `dim`.
Tensor argmax(const Tensor& x, int dim, KeepDims keep = KeepDims::no);
/// Index of the first smallest. A NaN counts as smallest here, and as largest in argmax.
Tensor argmin(const Tensor& x, int dim, KeepDims keep = KeepDims::no);

/// Elements along a dimension, and where they were.
struct ValuesIndices {
  Tensor values;
  Tensor indices;  ///< i64, off the tape
};
/// The first largest along `dim`, a NaN above all; the gradient goes to that element alone.
///
/// @throws InvalidArgument  `dim` is empty.
ValuesIndices max(const Tensor& x, int dim, KeepDims keep = KeepDims::no);
/// The first smallest, a NaN below all.
ValuesIndices min(const Tensor& x, int dim, KeepDims keep = KeepDims::no);

/// x[0] + ... + x[k] at each k along `dim`. bool and integers sum in i64.
Tensor cumsum(const Tensor& x, int dim);
/// log(sum(exp(x))), without overflow on the way.
Tensor logsumexp(const Tensor& x, const Dims& dims, KeepDims keep = KeepDims::no);
/// Sums `x` down to `shape`, which broadcasts to x's: the reverse of broadcasting.
Tensor sum_to(const Tensor& x, const Shape& shape);
/// Square root of the sum of squares of all elements of all tensors; off the tape.
Tensor global_norm(const std::vector<Tensor>& tensors);

}  // namespace tandem
