// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/random.hpp"

#include "kernels/for_each.hpp"
#include "kernels/random.inl"

namespace tandem::kernels {

template void uniform(const HostStream&, const RandomPlace&, const View&);
template void normal(const HostStream&, const RandomPlace&, const View&);
template void randint(
    const HostStream&, const RandomPlace&, std::int64_t, std::int64_t, const View&);

}  // namespace tandem::kernels
