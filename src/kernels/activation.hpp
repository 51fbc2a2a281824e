// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

namespace tandem::kernels {

/// Activations of up to two numbers, a and b, for float types; and clamp and smooth_l1, which have
/// the same form.
enum class Activation : std::uint8_t {
  silu,
  leaky_relu,  ///< a: slope below zero
  elu,         ///< a: what it falls to
  softplus,    ///< a: beta, b: threshold of beta x above which it is x
  logsigmoid,
  clamp,      ///< a: least, b: most
  smooth_l1,  ///< a: where the parabola ends, b: factor
};

/// y = op(x; a, b).
template <class S>
void activation(const S& s, Activation op, double a, double b, const View& x, const View& y);
/// dx = dy * op'(x; a, b).
template <class S>
void activation_grad(
    const S& s, Activation op, double a, double b, const View& dy, const View& x, const View& dx);

/// Gradients of the activations that kernels::unary has, from what the op kept: the output, and the
/// input for gelu.
enum class ActivationGrad : std::uint8_t { relu, tanh, sigmoid, gelu, gelu_tanh };
/// dx = dy * op'(kept).
template <class S>
void activation_grad(
    const S& s, ActivationGrad op, const View& dy, const View& kept, const View& dx);

}  // namespace tandem::kernels
