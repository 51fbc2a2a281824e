// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/pool.hpp"

// The kernels of pool.hpp for one channel: vectors run along the columns of a plane, not over its
// channels. Comparisons and sums come in the same order, so the bits are the same.
namespace tandem::kernels::plane {

void max_pool(
    const HostStream& s, const Pooling& p, const View& x, const View& y, const View& index);
void max_pool_scatter(
    const HostStream& s, const Pooling& p, const View& dy, const View& index, const View& dx);
void max_pool_gather(
    const HostStream& s, const Pooling& p, const View& x, const View& index, const View& y);
void avg_pool(const HostStream& s, const Pooling& p, const View& x, const View& y);
void avg_pool_grad(const HostStream& s, const Pooling& p, const View& dy, const View& dx);

}  // namespace tandem::kernels::plane
