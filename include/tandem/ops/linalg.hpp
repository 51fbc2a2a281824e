// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Matrix product, with torch.matmul's rules for vectors and broadcast batches.
///
/// @throws InvalidArgument  if the inner sizes differ (the message has both shapes), or if the
///                          tensors are not floats of one dtype.
Tensor matmul(const Tensor& a, const Tensor& b);
/// x @ weight.t() + bias.
///
/// @param x       (..., in)
/// @param weight  (out, in)
/// @param bias    (out) or undefined
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace tandem
