// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/map.hpp"
#include "kernels/unary.inl"

namespace tandem::kernels {

template void unary(const CudaStream&, Unary, const View&, const View&);

}  // namespace tandem::kernels
