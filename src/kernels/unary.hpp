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

}  // namespace tandem::kernels
