// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/activation.inl"

#include "kernels/map.hpp"

namespace tandem::kernels {

template void activation(const HostStream&, Activation, double, double, const View&, const View&);
template void activation_grad(
    const HostStream&, Activation, double, double, const View&, const View&, const View&);
template void activation_grad(
    const HostStream&, ActivationGrad, const View&, const View&, const View&);

}  // namespace tandem::kernels
