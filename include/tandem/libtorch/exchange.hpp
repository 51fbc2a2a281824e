// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

namespace at {
class Tensor;
}
namespace c10 {
struct Device;
}

namespace tandem::libtorch {

/// `x` as a tensor of PyTorch that shares its memory, which lives as long as one of the two needs
/// it. It is off both tapes. A write to one is seen by the other.
///
/// Thread-safe. @cost  below a microsecond.
/// @param on  PyTorch's device of the result: the host, or a virtual device (torch_device).
/// @throws InvalidArgument  x requires grad, is on a GPU, or may only be read: PyTorch has no such
///                          tensors.
at::Tensor to_torch(const Tensor& x, c10::Device on);
/// The same on PyTorch's `cpu`.
at::Tensor to_torch(const Tensor& x);
/// The reverse: `x` as a tensor of tandem that shares its memory. What is on a virtual device of
/// PyTorch is on the same one of tandem's; what is on `cpu` is on cpu:0.
///
/// @throws InvalidArgument  x requires grad, is not strided memory of the host, is a lazy conjugate
///                          or negative, or has a dtype that tandem lacks.
Tensor from_torch(const at::Tensor& x);
/// The same as a tensor of a given virtual device of tandem. All of them share the host's memory.
Tensor from_torch(const at::Tensor& x, Device device);

}  // namespace tandem::libtorch
