// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

// Operands are of the output's shape (kernels::broadcast_to) and may be the output itself.
namespace tandem::kernels {

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
/// y = x^exponent, f32 or f64.
template <class S>
void power(const S& s, double exponent, const View& x, const View& y);
/// y = x^exponent of two operands.
template <class S>
void power(const S& s, const View& x, const View& exponent, const View& y);

}  // namespace tandem::kernels
