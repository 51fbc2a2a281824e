// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

namespace tandem::kernels {

enum class CumsumFrom : std::uint8_t { first, last };

/// y[k] = x[0] + ... + x[k] along `dim`, or x[k] + ... + x[n - 1]. f32, f64 (added up in f64) or
/// i64, of one dtype.
void cumsum(const HostStream& s, CumsumFrom from, int dim, const View& x, const View& y);
void cumsum(const CudaStream& s, CumsumFrom from, int dim, const View& x, const View& y);

}  // namespace tandem::kernels
