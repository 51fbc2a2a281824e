// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

// Operands are of the output's shape (kernels::broadcast_to) and may be the output itself.
namespace tandem::kernels {

/// Ops of one operand; those from exp on are for float types alone.
enum class Unary : std::uint8_t {
  neg,
  abs,
  square,
  sign,
  relu,
  exp,
  log,
  sqrt,
  rsqrt,
  reciprocal,
  sin,
  cos,
  erf,
  tanh,
  sigmoid,
  gelu,
  gelu_tanh,
};
/// y = op(x), of one dtype.
template <class S>
void unary(const S& s, Unary op, const View& x, const View& y);
/// y = x^exponent, f32 or f64.
template <class S>
void power(const S& s, double exponent, const View& x, const View& y);
/// y = x^exponent of two operands.
template <class S>
void power(const S& s, const View& x, const View& exponent, const View& y);
/// y (bool) = x (f32 or f64) is neither infinite nor NaN.
template <class S>
void is_finite(const S& s, const View& x, const View& y);

/// Ops of two operands of the output's dtype; div is for float types alone.
enum class Binary : std::uint8_t { add, sub, mul, div, maximum, minimum };
template <class S>
void binary(const S& s, Binary op, const View& a, const View& b, const View& y);
/// The same with a number, converted to a's dtype.
template <class S>
void binary(const S& s, Binary op, const View& a, double b, const View& y);
/// y = a + alpha * b.
template <class S>
void scaled_add(const S& s, const View& a, const View& b, double alpha, const View& y);
/// y = condition (bool) ? a : b.
template <class S>
void where(const S& s, const View& condition, const View& a, const View& b, const View& y);

/// Comparisons of two operands of one dtype; y is bool. Greater is less with the sides exchanged.
enum class Compare : std::uint8_t { equal, not_equal, less, less_equal };
template <class S>
void compare(const S& s, Compare op, const View& a, const View& b, const View& y);

/// Activations' gradients, f32 or f64, from what the op kept: the output, and the input for gelu.
enum class ActivationGrad : std::uint8_t { relu, tanh, sigmoid, gelu, gelu_tanh };
/// dx = dy * op'(kept).
template <class S>
void activation_grad(
    const S& s, ActivationGrad op, const View& dy, const View& kept, const View& dx);

}  // namespace tandem::kernels
