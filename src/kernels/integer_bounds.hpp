// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/runtime/integer_bounds.hpp"

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

namespace tandem::kernels {

/// The bounds of a tensor's elements.
///
/// @param x  u8, i32 or i64, at least one element, dense.
/// @cost  two passes over x.
IntegerBounds integer_bounds(const HostStream& s, const View& x);

}  // namespace tandem::kernels
