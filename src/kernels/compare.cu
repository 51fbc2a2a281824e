// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/compare.inl"
#include "kernels/cuda/map.hpp"

namespace tandem::kernels {

template void compare(const CudaStream&, Compare, const View&, const View&, const View&);
template void is_finite(const CudaStream&, const View&, const View&);
template void where(const CudaStream&, const View&, const View&, const View&, const View&);

}  // namespace tandem::kernels
