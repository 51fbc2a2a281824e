// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/activation.inl"
#include "kernels/cuda/map.hpp"

namespace tandem::kernels {

template void activation(const CudaStream&, Activation, double, double, const View&, const View&);
template void activation_grad(
    const CudaStream&, Activation, double, double, const View&, const View&, const View&);
template void activation_grad(
    const CudaStream&, ActivationGrad, const View&, const View&, const View&);

}  // namespace tandem::kernels
