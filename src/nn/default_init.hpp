// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "tandem/nn/parameter.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::nn {

/// PyTorch's initial weight and bias of Linear and Conv2d: both uniform within 1 / sqrt(inputs per
/// output).
Parameter default_weight(const Shape& shape, const TensorOptions& options);
Parameter default_bias(const Tensor& weight, const TensorOptions& options);
/// The same for a bias of another size than the weight's first.
Parameter default_bias(const Tensor& weight, std::int64_t size, const TensorOptions& options);

}  // namespace tandem::nn
