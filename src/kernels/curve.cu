// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/map.hpp"
#include "kernels/curve.inl"

namespace tandem::kernels {

template void curve(const CudaStream&, Curve, double, double, const View&, const View&);
template void curve_grad(
    const CudaStream&, Curve, double, double, const View&, const View&, const View&);

}  // namespace tandem::kernels
