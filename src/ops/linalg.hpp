// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// x (..., in), weight (out, in) and bias (out) or undefined are float tensors that fit. @param op
/// named in errors.
void check_linear(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias);
/// Sizes of a reshape of (..., k) to rows of k; spelled out, since -1 does not work without
/// elements.
Shape rows_of(const Tensor& x);
/// `x` off the tape, in a layout that BLAS reads: transposes are, other strides are copied.
Tensor readable(const Tensor& x);
/// a (..., m, k) @ b (..., k, n) + bias (n); batch sizes are equal. Off the tape.
///
/// @param into  where the result is made, dense; undefined: in memory of its own.
Tensor multiply(const char* op,
                const Tensor& a,
                const Tensor& b,
                const Tensor& bias = {},
                const Tensor& into = {});
/// @throws InvalidArgument  a side of a @ b is larger than BLAS counts.
void check_sides(const char* op, const Tensor& a, const Tensor& b);

}  // namespace tandem
