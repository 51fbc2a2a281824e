// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// gather by an i64 index that is known to be good: nothing is read from the device.
Tensor take(const Tensor& x, int dim, const Tensor& index);
/// scatter_add likewise. @param part  of the index's shape.
Tensor put(const Tensor& x, int dim, const Tensor& index, const Tensor& part);

}  // namespace tandem
