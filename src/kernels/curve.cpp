// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/curve.inl"

#include "kernels/elementwise.hpp"

namespace tandem::kernels {

template void curve(const HostStream&, Curve, double, double, const View&, const View&);
template void curve_grad(
    const HostStream&, Curve, double, double, const View&, const View&, const View&);

}  // namespace tandem::kernels
