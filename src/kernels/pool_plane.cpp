// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/pool_plane.hpp"

#include <algorithm>
#include <limits>

#include "kernels/for_each.hpp"

namespace tandem::kernels::plane {
namespace {

std::int64_t in_plane(const Pooling& p) noexcept {
  return p.h * p.w;
}
std::int64_t out_plane(const Pooling& p) noexcept {
  return static_cast<std::int64_t>(p.rows.size() * p.columns.size());
}

/// Calls f(n) for every plane on the threads of `s`.
template <class F>
void for_planes(const HostStream& s, const Pooling& p, F f) {
  const std::int64_t grain = kGrain / std::max<std::int64_t>(1, in_plane(p)) + 1;
  const std::int64_t tiles = tile_count(s, p.images, grain);
  for_each_tile(s, tiles, [&](std::int64_t t) {
    for (std::int64_t n = p.images * t / tiles; n < p.images * (t + 1) / tiles; ++n)
      f(n);
  });
}

/// Calls f(offset in y, row window, run of columns) over a plane, in order of y.
template <class F>
void for_runs(const Pooling& p, F f) {
  std::int64_t out = 0;
  for (const Window& row : p.rows) {
    for (const ColumnRun& run : p.column_runs) {
      f(out, row, run);
      out += run.size;
    }
  }
}

/// Calls f.template operator()<kStride>() for the usual strides, which the compiler then knows; <0>
/// for others.
template <class F>
void with_stride(std::int64_t stride, F f) {
  if (stride == 1) return f.template operator()<1>();
  if (stride == 2) return f.template operator()<2>();
  f.template operator()<0>();
}

/// Calls f.template operator()<k>(position) for the columns [position, position + k) of the first
/// window of a run, row by row. Where k is the stride, the windows' columns lie without gaps: whole
/// vectors are loaded, and short rows need no scalar rest.
template <std::int64_t kStride, class F>
void for_columns(const Pooling& p, const Window& row, const ColumnRun& run, F f) {
  for (std::int64_t i = row.begin; i < row.end; ++i) {
    const std::int64_t first = i * p.w + run.begin;
    std::int64_t j = 0;
    if constexpr (kStride > 1) {
      for (; j + kStride <= run.width; j += kStride)
        f.template operator()<kStride>(first + j);
    }
    for (; j < run.width; ++j)
      f.template operator()<1>(first + j);
  }
}

/// The same from the last column of a row to the first: an input position then meets its windows in
/// their order.
template <std::int64_t kStride, class F>
void for_columns_backwards(const Pooling& p, const Window& row, const ColumnRun& run, F f) {
  const std::int64_t groups = kStride > 1 ? run.width / kStride : 0;
  for (std::int64_t i = row.begin; i < row.end; ++i) {
    const std::int64_t first = i * p.w + run.begin;
    for (std::int64_t j = run.width; j-- > groups * kStride;)
      f.template operator()<1>(first + j);
    if constexpr (kStride > 1) {
      for (std::int64_t g = groups; g-- > 0;)
        f.template operator()<kStride>(first + g * kStride);
    }
  }
}

// Counters have 32 bits, as the index: one kind of lane.
template <std::int64_t kStride, std::int64_t kColumns, class T>
void max_at(const ColumnRun& run, std::int64_t at, const T* x, T* y, std::int32_t* index) {
  const auto n = static_cast<std::int32_t>(run.size);
  const auto stride = static_cast<std::int32_t>(kStride > 0 ? kStride : run.stride);
  const auto first = static_cast<std::int32_t>(at);
  const T* const from = x + at;
#pragma GCC ivdep
  for (std::int32_t j = 0; j < n; ++j) {
    T best = y[j];
    std::int32_t held = index[j];
    for (std::int32_t k = 0; k < kColumns; ++k) {
      const T v = from[j * stride + k];
      const bool take = (v > best) | (v != v);
      best = take ? v : best;
      held = take ? first + j * stride + k : held;
    }
    y[j] = best;
    index[j] = held;
  }
}

template <std::int64_t kStride, std::int64_t kColumns, class T>
void add_at(const ColumnRun& run, const T* x, T* y) {
  const auto n = static_cast<std::int32_t>(run.size);
  const auto stride = static_cast<std::int32_t>(kStride > 0 ? kStride : run.stride);
#pragma GCC ivdep
  for (std::int32_t j = 0; j < n; ++j) {
    T sum = y[j];
    for (std::int32_t k = 0; k < kColumns; ++k)
      sum += x[j * stride + k];
    y[j] = sum;
  }
}

template <std::int64_t kStride, std::int64_t kColumns, class T>
void spread_at(const ColumnRun& run, T count, const T* dy, T* dx) {
  const auto n = static_cast<std::int32_t>(run.size);
  const auto stride = static_cast<std::int32_t>(kStride > 0 ? kStride : run.stride);
#pragma GCC ivdep
  for (std::int32_t j = 0; j < n; ++j) {
    const T g = dy[j] / count;
    for (std::int32_t k = 0; k < kColumns; ++k)
      dx[j * stride + k] += g;
  }
}

}  // namespace

void max_pool(
    const HostStream& s, const Pooling& p, const View& x, const View& y, const View& index) {
  with_float(x.dtype, [&]<class T>() {
    for_planes(s, p, [&](std::int64_t n) {
      const T* const from = x.as<T>() + n * in_plane(p);
      for_runs(p, [&](std::int64_t out, const Window& row, const ColumnRun& run) {
        T* const best = y.as<T>() + n * out_plane(p) + out;
        std::int32_t* const at = index.as<std::int32_t>() + n * out_plane(p) + out;
        std::fill_n(best, run.size, -std::numeric_limits<T>::infinity());
        for (std::int64_t j = 0; j < run.size; ++j)
          at[j] = static_cast<std::int32_t>(row.begin * p.w + run.begin + j * run.stride);
        with_stride(run.stride, [&]<std::int64_t kStride>() {
          for_columns<kStride>(p, row, run, [&]<std::int64_t kColumns>(std::int64_t position) {
            max_at<kStride, kColumns>(run, position, from, best, at);
          });
        });
      });
    });
  });
}

void max_pool_scatter(
    const HostStream& s, const Pooling& p, const View& dy, const View& index, const View& dx) {
  with_float(dx.dtype, [&]<class T>() {
    for_planes(s, p, [&](std::int64_t n) {
      const T* const from = dy.as<T>() + n * out_plane(p);
      const std::int32_t* const at = index.as<std::int32_t>() + n * out_plane(p);
      T* const to = dx.as<T>() + n * in_plane(p);
      std::fill_n(to, in_plane(p), T(0));
      for (std::int64_t i = 0; i < out_plane(p); ++i)
        to[at[i]] += from[i];
    });
  });
}

void max_pool_gather(
    const HostStream& s, const Pooling& p, const View& x, const View& index, const View& y) {
  with_float(x.dtype, [&]<class T>() {
    for_planes(s, p, [&](std::int64_t n) {
      const T* const from = x.as<T>() + n * in_plane(p);
      const std::int32_t* const at = index.as<std::int32_t>() + n * out_plane(p);
      T* const to = y.as<T>() + n * out_plane(p);
      for (std::int64_t i = 0; i < out_plane(p); ++i)
        to[i] = from[at[i]];
    });
  });
}

void avg_pool(const HostStream& s, const Pooling& p, const View& x, const View& y) {
  with_float(x.dtype, [&]<class T>() {
    for_planes(s, p, [&](std::int64_t n) {
      const T* const from = x.as<T>() + n * in_plane(p);
      for_runs(p, [&](std::int64_t out, const Window& row, const ColumnRun& run) {
        T* const to = y.as<T>() + n * out_plane(p) + out;
        const T count = static_cast<T>(row.count * run.count);
        std::fill_n(to, run.size, T(0));
        with_stride(run.stride, [&]<std::int64_t kStride>() {
          for_columns<kStride>(p, row, run, [&]<std::int64_t kColumns>(std::int64_t position) {
            add_at<kStride, kColumns>(run, from + position, to);
          });
        });
        for (std::int64_t j = 0; j < run.size; ++j)
          to[j] /= count;
      });
    });
  });
}

void avg_pool_grad(const HostStream& s, const Pooling& p, const View& dy, const View& dx) {
  with_float(dx.dtype, [&]<class T>() {
    for_planes(s, p, [&](std::int64_t n) {
      T* const to = dx.as<T>() + n * in_plane(p);
      std::fill_n(to, in_plane(p), T(0));
      for_runs(p, [&](std::int64_t out, const Window& row, const ColumnRun& run) {
        const T* const from = dy.as<T>() + n * out_plane(p) + out;
        const T count = static_cast<T>(row.count * run.count);
        with_stride(run.stride, [&]<std::int64_t kStride>() {
          for_columns_backwards<kStride>(
              p, row, run, [&]<std::int64_t kColumns>(std::int64_t position) {
                spread_at<kStride, kColumns>(run, count, from, to + position);
              });
        });
      });
    });
  });
}

}  // namespace tandem::kernels::plane
