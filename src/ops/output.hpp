// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "tandem/tensor/tensor.hpp"

#include "kernels/view.hpp"
#include "tensor/empty_strided.hpp"

namespace tandem {

/// The elements of `x` fill its memory without gap or overlap, in some order of dimensions.
bool is_dense(const Tensor& x);
/// The output of an elementwise op: laid out as the first dense input of its shape, so that
/// channels-last stays channels-last; else row-major. On the first input's device.
Tensor make_output(const Shape& shape, DType dtype, std::initializer_list<Tensor> inputs);
/// A kernel's view of `x` as one of `shape`, which it broadcasts to.
kernels::View view_as(const Tensor& x, const Shape& shape);
/// The dtype in which `x` meets a number: x's own, but f32 for a fraction and an integer tensor.
DType number_dtype(DType x, double number) noexcept;
/// `x`, or its f32 copy where it is not a float tensor.
Tensor as_float(const Tensor& x);

}  // namespace tandem
