// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "tandem/tensor/tensor.hpp"

// Tandem has no complex types. A complex tensor of PyTorch is shown to it as a real one over the
// same memory, whose last dimension has the real and the imaginary part. What a wrapper does with
// parameters, gradients and buffers (copies, sums, scales) is the same for both.
namespace tandem::libtorch {

/// from_torch of a tensor of any dtype, by pairs if it is complex. A lazy conjugate is computed.
Tensor from_torch_in_pairs(const at::Tensor& x, Device device);

/// The reverse: a tensor of `dtype` on a device of PyTorch, no view of another one.
at::Tensor to_torch_from_pairs(const Tensor& x, c10::ScalarType dtype, c10::Device on);

}  // namespace tandem::libtorch
