// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

namespace tandem::kernels {

/// y = x, converted to y's dtype. @param x  of y's shape; may broadcast by zero strides.
void copy(const HostStream& s, const View& x, const View& y);
void copy(const CudaStream& s, const View& x, const View& y);
void copy(const RegisteredStream& s, const View& x, const View& y);

}  // namespace tandem::kernels
