// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include <ATen/core/Tensor.h>

namespace tandem::libtorch {

/// From the first byte of a strided tensor that has elements to the end of its last one.
std::pair<const std::byte*, const std::byte*> extent_of(const at::Tensor& x);

/// Whether two strided tensors have a byte in common. It is exact: two columns of a matrix have
/// none.
///
/// @cost  a few operations, unless elements of different strides lie between each other: then one
///        for each of them.
bool share_memory(const at::Tensor& x, const at::Tensor& y);

}  // namespace tandem::libtorch
