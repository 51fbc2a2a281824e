// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// The form of gelu: the exact one by erf, or PyTorch's tanh approximation.
enum class Gelu : std::uint8_t { exact, tanh };

Tensor relu(const Tensor& x);
Tensor gelu(const Tensor& x, Gelu form = Gelu::exact);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
/// x sigmoid(x), also called swish.
Tensor silu(const Tensor& x);
/// x, or negative_slope x where x is below zero.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
/// x, or alpha (exp(x) - 1) where x is below zero.
Tensor elu(const Tensor& x, double alpha = 1);
/// log(1 + exp(beta x)) / beta, or x itself where beta x is above `threshold`.
///
/// @throws InvalidArgument  if `beta` is not above 0.
Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20);
/// log(sigmoid(x)); accurate far from zero too.
Tensor logsigmoid(const Tensor& x);

}  // namespace tandem
