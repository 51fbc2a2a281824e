// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/map.hpp"
#include "kernels/fill.hpp"
#include "kernels/fill.inl"

namespace tandem::kernels {

template void fill(const CudaStream&, double, const View&);
template void arange(const CudaStream&, double, double, const View&);

}  // namespace tandem::kernels
