// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/map.hpp"
#include "kernels/pointwise.hpp"
#include "kernels/unary.inl"

namespace tandem::kernels {

template void unary(const CudaStream&, Unary, const View&, const View&);
template void power(const CudaStream&, double, const View&, const View&);
template void is_finite(const CudaStream&, const View&, const View&);
template void activation_grad(
    const CudaStream&, ActivationGrad, const View&, const View&, const View&);

}  // namespace tandem::kernels
