// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/arithmetic.inl"
#include "kernels/cuda/map.hpp"

namespace tandem::kernels {

template void binary(const CudaStream&, Binary, const View&, const View&, const View&);
template void binary(const CudaStream&, Binary, const View&, double, const View&);
template void scaled_add(const CudaStream&, const View&, const View&, double, const View&);
template void power(const CudaStream&, double, const View&, const View&);
template void power(const CudaStream&, const View&, const View&, const View&);

}  // namespace tandem::kernels
