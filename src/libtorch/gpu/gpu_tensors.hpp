// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "tandem/core/dtype.hpp"

#include "kernels/view.hpp"

// Tensors of PyTorch over memory that somebody else keeps, for its ops.
namespace tandem::libtorch {

at::ScalarType scalar_type(DType dtype);

/// Bytes of the host.
at::Tensor bytes_of_host(const void* p, std::size_t nbytes);
/// Bytes of a GPU.
at::Tensor bytes_of_gpu(const void* p, std::size_t nbytes, int ordinal);
/// Elements [begin, end) of an array of a GPU.
at::Tensor range_of_gpu(
    const void* p, DType dtype, std::int64_t begin, std::int64_t end, int ordinal);
/// What a kernel sees of a tensor of a GPU.
at::Tensor view_of_gpu(const kernels::View& x, int ordinal);

}  // namespace tandem::libtorch
