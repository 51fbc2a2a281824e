// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

// Functions that fill a tensor in place, off the tape, like torch.nn.init. They return their
// argument. Random values follow from manual_seed and the order of random calls.
namespace tandem::nn::init {

/// The nonlinearity that follows a layer; it determines the scale of the layer's weights.
enum class Nonlinearity : std::uint8_t { linear, sigmoid, tanh, relu, leaky_relu };
/// Which variance a weight preserves: of the activations (in), or of the gradients (out).
enum class Fan : std::uint8_t { in, out };

/// PyTorch's recommended gain.
///
/// @param slope  the slope of leaky_relu below zero
double gain(Nonlinearity nonlinearity, double slope = 0.01);

/// Number of inputs per output and of outputs per input for a weight (out, in) or
/// (out, in, k1, ...); both include the kernel's size.
struct Fans {
  std::int64_t in;
  std::int64_t out;
};
/// @throws InvalidArgument  if `weight` has fewer than two dimensions.
Fans fans(const Tensor& weight);

Tensor& constant_(Tensor& x, double value);
Tensor& zeros_(Tensor& x);
Tensor& ones_(Tensor& x);
/// Uniform in [low, high).
Tensor& uniform_(Tensor& x, double low = 0, double high = 1);
Tensor& normal_(Tensor& x, double mean = 0, double deviation = 1);

struct KaimingOptions {
  double slope = 0;  ///< the slope of leaky_relu below zero; PyTorch's `a`
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
