// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// `bias` is undefined, or has `channels` elements of the weight's dtype. @param op  named in the
/// error.
void check_conv_bias(const char* op,
                     const Tensor& bias,
                     const Tensor& weight,
                     std::int64_t channels);

}  // namespace tandem
