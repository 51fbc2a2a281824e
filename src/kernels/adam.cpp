// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/adam.hpp"

#include "kernels/adam.inl"
#include "kernels/for_each.hpp"

namespace tandem::kernels {

template void adam(
    const HostStream&, DType, std::int64_t, const AdamNumbers&, void*, const void*, void*, void*);
template void nadam(
    const HostStream&, DType, std::int64_t, const NadamNumbers&, void*, const void*, void*, void*);
template void radam(
    const HostStream&, DType, std::int64_t, const RadamNumbers&, void*, const void*, void*, void*);

}  // namespace tandem::kernels
