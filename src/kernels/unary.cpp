// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/unary.inl"

#include "kernels/map.hpp"

namespace tandem::kernels {

template void unary(const HostStream&, Unary, const View&, const View&);

}  // namespace tandem::kernels
