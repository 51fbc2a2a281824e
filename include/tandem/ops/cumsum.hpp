// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Running sum along `dim`: x[0] + ... + x[k] at each k. bool and integers sum in i64.
Tensor cumsum(const Tensor& x, int dim);

}  // namespace tandem
