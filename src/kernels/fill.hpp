// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

namespace tandem::kernels {

/// Every element becomes `value`, converted to y's dtype.
void fill(const HostStream& s, double value, const View& y);
void fill(const CudaStream& s, double value, const View& y);
void fill(const RegisteredStream& s, double value, const View& y);
/// y[i] = start + i * step. @param y  1-D.
template <class S>
void arange(const S& s, double start, double step, const View& y);

}  // namespace tandem::kernels
