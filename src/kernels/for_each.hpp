// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "tandem/runtime/stream.hpp"

/// Marks functions that run on the host and on a GPU: kernels are written once as functors.
#ifdef __CUDACC__
#define TANDEM_HD __host__ __device__
#else
#define TANDEM_HD
#endif

namespace tandem::kernels {

/// Elements for which a second thread pays: below, starting it costs more than it saves.
inline constexpr std::int64_t kGrain = 16384;

/// Parts that work of `n` items is cut into: at most one per thread of `s`, none below `grain`
/// items.
std::int64_t tile_count(const HostStream& s, std::int64_t n, std::int64_t grain) noexcept;

/// Multiply-adds of a product or a convolution for which a second thread pays, whatever library
/// carries it out.
inline constexpr std::int64_t kProductGrain = 512 * 1024;

/// `s` with as many threads only as work of `n` items in parts of `grain` or more pays for.
inline HostStream threads_for(const HostStream& s, std::int64_t n, std::int64_t grain) noexcept {
  return {s.device, static_cast<int>(tile_count(s, n, grain)), s.path, s.computes};
}

namespace detail {

/// Runs call(context, t) for t in [0, tiles) on the threads of `s`, through Thrust: defined by one
/// file of host_threads/.
void run_tiles(const HostStream& s,
               std::int64_t tiles,
               void (*call)(const void*, std::int64_t),
               const void* context);

}  // namespace detail

/// Calls `f(t)` for t in [0, tiles), on the threads of `s`; `f` does not throw.
template <class F>
void for_each_tile(const HostStream& s, std::int64_t tiles, const F& f) {
  const auto call = [](const void* context, std::int64_t t) {
    (*static_cast<const F*>(context))(t);
  };
  detail::run_tiles(s, tiles, call, &f);
}

/// Calls `f(begin, end)` for disjoint ranges that cover [0, n); `f` does not throw.
///
/// @param grain  least items of a range, where there is more than one.
template <class F>
void for_each_range(const HostStream& s, std::int64_t n, std::int64_t grain, const F& f) {
  constexpr std::int64_t kLine = 64;  // ranges begin at whole cache lines, whatever the element
  if (n <= 0) return;
  const std::int64_t tiles = tile_count(s, n, grain);
  if (tiles == 1) return f(std::int64_t{0}, n);
  const std::int64_t step =
      n < tiles * kLine ? (n + tiles - 1) / tiles : (n / tiles + kLine) / kLine * kLine;
  for_each_tile(s, tiles, [&](std::int64_t t) {
    const std::int64_t begin = t * step;
    const std::int64_t end = std::min(n, begin + step);
    if (begin < end) f(begin, end);
  });
}

/// Calls `f(i)` for i in [0, n): calls are independent of each other, so that they may run as
/// vectors.
template <class F>
void for_each(const HostStream& s, std::int64_t n, F f) {
  for_each_range(s, n, kGrain, [f](std::int64_t begin, std::int64_t end) {
#pragma GCC ivdep
    for (std::int64_t i = begin; i < end; ++i)
      f(i);
  });
}

}  // namespace tandem::kernels
