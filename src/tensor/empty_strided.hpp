// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// A tensor of its own memory, not initialised; `strides` fill it without gap.
///
/// @throws InvalidArgument  a size is negative, or the bytes do not fit in 63 bits.
/// @throws OutOfMemory      beyond the device's limit.
Tensor empty_strided(const Shape& shape, const Strides& strides, DType dtype, Device device);

}  // namespace tandem
