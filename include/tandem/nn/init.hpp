// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

// Fill a tensor in place, off the tape, with numbers that follow from manual_seed and the order of
// random calls (torch.nn.init). Each returns its argument.
namespace tandem::nn::init {

/// What follows a layer, for the scale of its weights.
enum class Nonlinearity : std::uint8_t { linear, sigmoid, tanh, relu, leaky_relu };
/// Which side of a weight keeps its variance.
enum class Fan : std::uint8_t { in, out };

/// PyTorch's recommended gain. @param slope  of leaky_relu below zero.
double gain(Nonlinearity nonlinearity, double slope = 0.01);

/// Inputs and outputs per element of a weight: (out, in) or (out, in, k1, ...).
struct Fans {
  std::int64_t in;
  std::int64_t out;
};
/// @throws InvalidArgument  fewer than two dimensions.
Fans fans(const Tensor& weight);

Tensor& constant_(Tensor& x, double value);
Tensor& zeros_(Tensor& x);
Tensor& ones_(Tensor& x);
/// In [low, high).
Tensor& uniform_(Tensor& x, double low = 0, double high = 1);
Tensor& normal_(Tensor& x, double mean = 0, double deviation = 1);

struct KaimingOptions {
  double slope = 0;  ///< of leaky_relu below zero; PyTorch's `a`
  Fan fan = Fan::in;
  Nonlinearity nonlinearity = Nonlinearity::leaky_relu;
};
/// @source He et al., "Delving deep into rectifiers", ICCV 2015.
Tensor& kaiming_uniform_(Tensor& weight, KaimingOptions options = {});
Tensor& kaiming_normal_(Tensor& weight, KaimingOptions options = {});
/// @source Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
///         networks", AISTATS 2010.
Tensor& xavier_uniform_(Tensor& weight, double gain = 1);
Tensor& xavier_normal_(Tensor& weight, double gain = 1);

}  // namespace tandem::nn::init
