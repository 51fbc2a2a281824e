// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// A flat tensor of zeros that counts in `category`. On the host, GPUs read and write it without a
/// copy by the driver. @throws OutOfMemory
Tensor allocate_share(std::int64_t numel, DType dtype, Device device, Category category);

}  // namespace tandem::parallel
