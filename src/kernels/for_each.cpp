// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/for_each.hpp"

#include <omp.h>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/system/cpp/execution_policy.h>
#include <thrust/system/omp/execution_policy.h>

#include "tandem/config.hpp"

namespace tandem::kernels {
namespace {

struct Call {
  void (*call)(const void*, std::int64_t);
  const void* context;
  void operator()(std::int64_t t) const { call(context, t); }
};

// The one place that names Thrust's host systems. A template, so that OpenMP is not asked for in a
// build without it.
template <class F>
void run(const HostStream& s, std::int64_t n, F f) {
  const thrust::counting_iterator<std::int64_t> first(0);
  if constexpr (has_openmp) {
    if (n > 1 && s.threads > 1) {
      // Thread-local in OpenMP: this device's share of the cores.
      if (omp_get_max_threads() != s.threads) omp_set_num_threads(s.threads);
      thrust::for_each_n(thrust::omp::par, first, n, f);
      return;
    }
  }
  thrust::for_each_n(thrust::cpp::par, first, n, f);
}

}  // namespace

std::int64_t tile_count(const HostStream& s, std::int64_t n, std::int64_t grain) noexcept {
  if (!has_openmp || s.threads <= 1) return 1;
  return std::clamp<std::int64_t>(n / grain, 1, s.threads);
}

void detail::run_tiles(const HostStream& s,
                       std::int64_t tiles,
                       void (*call)(const void*, std::int64_t),
                       const void* context) {
  run(s, tiles, Call{call, context});
}

}  // namespace tandem::kernels
