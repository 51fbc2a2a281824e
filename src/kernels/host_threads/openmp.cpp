// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Host kernels on OpenMP's threads, which oneDNN uses too.

#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/system/cpp/execution_policy.h>
#include <thrust/system/omp/execution_policy.h>

#include "kernels/for_each.hpp"
#include "runtime/openmp_threads.hpp"

namespace tandem::kernels {

void detail::run_tiles(const HostStream& s,
                       std::int64_t tiles,
                       void (*call)(const void*, std::int64_t),
                       const void* context) {
  const thrust::counting_iterator<std::int64_t> first(0);
  const auto tile = [=](std::int64_t t) { call(context, t); };
  if (tiles > 1 && s.threads > 1) {
    const OpenMpThreads share(s.threads);
    thrust::for_each_n(thrust::omp::par, first, tiles, tile);
    return;
  }
  thrust::for_each_n(thrust::cpp::par, first, tiles, tile);
}

}  // namespace tandem::kernels
