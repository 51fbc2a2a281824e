// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

// Operands are of the output's shape (kernels::broadcast_to) and may be the output itself.
namespace tandem::kernels {

/// y = condition (bool) ? a : b.
template <class S>
void where(const S& s, const View& condition, const View& a, const View& b, const View& y);

/// Comparisons of two operands of one dtype; y is bool. Greater is less with the sides exchanged.
enum class Compare : std::uint8_t { equal, not_equal, less, less_equal };
template <class S>
void compare(const S& s, Compare op, const View& a, const View& b, const View& y);
/// y (bool) = x (f32 or f64) is neither infinite nor NaN.
template <class S>
void is_finite(const S& s, const View& x, const View& y);

}  // namespace tandem::kernels
