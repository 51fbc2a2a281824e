// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/unary.inl"

#include "kernels/elementwise.hpp"
#include "kernels/pointwise.hpp"

namespace tandem::kernels {

template void unary(const HostStream&, Unary, const View&, const View&);
template void power(const HostStream&, double, const View&, const View&);
template void is_finite(const HostStream&, const View&, const View&);
template void activation_grad(
    const HostStream&, ActivationGrad, const View&, const View&, const View&);

}  // namespace tandem::kernels
