// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

// y has x's dimensions, of size one where they are reduced. The order of additions depends on the
// layout and the number of threads alone, so that the result is the same bit for bit in every run.
namespace tandem::kernels {

/// How a sum takes its elements.
enum class Term : std::uint8_t { value, square };
/// y = scale * sum of x's terms. Floats give floats (x's type, or f64), other types i64.
template <class S>
void sum(const S& s, Term term, double scale, const View& x, const View& y);

enum class Extremum : std::uint8_t { largest, smallest };
/// @param x  at least one element for each of y's.
template <class S>
void extremum(const S& s, Extremum which, const View& x, const View& y);
/// y (i64) = index along `dim` of the first largest element; a NaN counts as largest.
void argmax(const HostStream& s, int dim, const View& x, const View& y);
void argmax(const CudaStream& s, int dim, const View& x, const View& y);

}  // namespace tandem::kernels
