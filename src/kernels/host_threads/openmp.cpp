// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Host kernels on OpenMP's threads, which oneDNN uses too.

#include <omp.h>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/system/cpp/execution_policy.h>
#include <thrust/system/omp/execution_policy.h>

#include "kernels/for_each.hpp"

namespace tandem::kernels {

void detail::run_tiles(const HostStream& s,
                       std::int64_t tiles,
                       void (*call)(const void*, std::int64_t),
                       const void* context) {
  const thrust::counting_iterator<std::int64_t> first(0);
  const auto tile = [=](std::int64_t t) { call(context, t); };
  if (tiles > 1 && s.threads > 1) {
    // Thread-local in OpenMP: this device's share of the cores.
    if (omp_get_max_threads() != s.threads) omp_set_num_threads(s.threads);
    thrust::for_each_n(thrust::omp::par, first, tiles, tile);
    return;
  }
  thrust::for_each_n(thrust::cpp::par, first, tiles, tile);
}

}  // namespace tandem::kernels
