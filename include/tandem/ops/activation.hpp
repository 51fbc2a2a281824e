// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// gelu: the exact form by erf, or PyTorch's tanh approximation.
enum class Gelu : std::uint8_t { exact, tanh };

Tensor relu(const Tensor& x);
Tensor gelu(const Tensor& x, Gelu form = Gelu::exact);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
/// x sigmoid(x), also called swish.
Tensor silu(const Tensor& x);
/// x, or negative_slope x below zero.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
/// x, or alpha (exp(x) - 1) below zero.
Tensor elu(const Tensor& x, double alpha = 1);
/// log(1 + exp(beta x)) / beta; x itself where beta x is above `threshold`.
///
/// @throws InvalidArgument  beta is not above 0.
Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20);
/// log(sigmoid(x)), exact far from zero too.
Tensor logsigmoid(const Tensor& x);
/// Over one dimension.
Tensor softmax(const Tensor& x, int dim);
Tensor log_softmax(const Tensor& x, int dim);

struct DropoutOptions {
  /// The dimension of the batch's rows: masks depend on the global row alone. None: the wrapper's
  /// `dim` in a replica, else 0.
  std::optional<int> row_dim = std::nullopt;
};
/// Sets elements to zero with probability `p` and scales the rest by 1 / (1 - p).
///
/// The mask is a pure function of (seed, count of top-level forwards, module path and call index,
/// global row, place in the row): it does not depend on the number of devices. Identity in p == 0.
/// @throws InvalidArgument  p outside [0, 1).
Tensor dropout(const Tensor& x, double p, DropoutOptions options = {});

}  // namespace tandem
