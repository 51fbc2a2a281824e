// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

namespace tandem::kernels {

/// Functions of one operand and up to two numbers, a and b, for float types.
enum class Curve : std::uint8_t {
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
void curve(const S& s, Curve op, double a, double b, const View& x, const View& y);
/// dx = dy * op'(x; a, b).
template <class S>
void curve_grad(
    const S& s, Curve op, double a, double b, const View& dy, const View& x, const View& dx);

}  // namespace tandem::kernels
