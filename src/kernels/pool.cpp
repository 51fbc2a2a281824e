// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/pool.hpp"

#include <algorithm>
#include <limits>

#include "kernels/for_each.hpp"
#include "kernels/pool_plane.hpp"

// Loops run over a window's positions outside and channels inside: vectors of channels. Where there
// is one channel, pool_plane.cpp takes over.
namespace tandem::kernels {
namespace {

constexpr std::int64_t kChannelStep =
    64;  ///< channels at a time: their maxima stay in registers and first-level cache

struct Geometry {
  const Pooling& p;
  std::int64_t oh = static_cast<std::int64_t>(p.rows.size());
  std::int64_t ow = static_cast<std::int64_t>(p.columns.size());
  std::int64_t in_image = p.h * p.w * p.channels;
  std::int64_t out_image = oh * ow * p.channels;

  /// Least images of a thread's part.
  std::int64_t grain() const noexcept { return kGrain / std::max<std::int64_t>(1, in_image) + 1; }
};

/// Calls f(offset of the output pixel, image's offset in x, row window, column window) on the
/// threads of `s`.
template <class F>
void for_pixels(const HostStream& s, const Geometry& g, F f) {
  const std::int64_t tiles = tile_count(s, g.p.images, g.grain());
  for_each_tile(s, tiles, [&](std::int64_t t) {
    for (std::int64_t n = g.p.images * t / tiles; n < g.p.images * (t + 1) / tiles; ++n) {
      std::int64_t out = n * g.out_image;
      for (const Window& row : g.p.rows) {
        for (const Window& column : g.p.columns) {
          f(out, n * g.in_image, row, column);
          out += g.p.channels;
        }
      }
    }
  });
}

/// Calls f(position in the plane) over a window, row by row.
template <class F>
void for_window(const Pooling& p, const Window& row, const Window& column, F f) {
  for (std::int64_t i = row.begin; i < row.end; ++i) {
    for (std::int64_t j = column.begin; j < column.end; ++j)
      f(i * p.w + j);
  }
}

template <class T>
void max_of_window(const Pooling& p,
                   const Window& row,
                   const Window& column,
                   const T* x,
                   T* y,
                   std::int32_t* index,
                   std::int64_t n) {
  T best[kChannelStep];
  std::int32_t at[kChannelStep];
  std::fill_n(best, n, -std::numeric_limits<T>::infinity());
  std::fill_n(at, n, static_cast<std::int32_t>(row.begin * p.w + column.begin));
  for_window(p, row, column, [&](std::int64_t position) {
    const T* const from = x + position * p.channels;
    const auto here = static_cast<std::int32_t>(position);
    for (std::int64_t c = 0; c < n; ++c) {
      const T v = from[c];
      const bool take = (v > best[c]) | (v != v);
      best[c] = take ? v : best[c];
      at[c] = take ? here : at[c];
    }
  });
  std::copy_n(best, n, y);
  std::copy_n(at, n, index);
}

/// Zeros the images of a tile before windows add to them.
template <class T>
void zero(const HostStream& s, const Geometry& g, T* dx) {
  const std::int64_t total = g.p.images * g.in_image;
  for_each_range(s, total, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::fill(dx + begin, dx + end, T(0));
  });
}

/// to = or += dy where the maximum was at `here`.
template <bool kAdd, class T>
void take_where(std::int64_t n, std::int32_t here, const std::int32_t* index, const T* dy, T* to) {
#pragma GCC ivdep
  for (std::int64_t c = 0; c < n; ++c) {
    const T g = index[c] == here ? dy[c] : T(0);
    to[c] = kAdd ? to[c] + g : g;
  }
}

template <class T>
void scatter_max(
    const HostStream& s, const Geometry& g, const T* dy, const std::int32_t* index, T* dx) {
  const Pooling& p = g.p;
  if (!p.tiles) zero(s, g, dx);
  for_pixels(
      s, g, [&](std::int64_t out, std::int64_t image, const Window& row, const Window& column) {
        for_window(p, row, column, [&](std::int64_t position) {
          T* const to = dx + image + position * p.channels;
          const auto here = static_cast<std::int32_t>(position);
          if (p.tiles)
            take_where<false>(p.channels,
                              here,
                              index + out,
                              dy + out,
                              to);  // each position once: no need of zeros
          else
            take_where<true>(p.channels, here, index + out, dy + out, to);
        });
      });
}

}  // namespace

void max_pool(
    const HostStream& s, const Pooling& p, const View& x, const View& y, const View& index) {
  if (p.channels == 1) return plane::max_pool(s, p, x, y, index);
  with_float(x.dtype, [&]<class T>() {
    for_pixels(s,
               Geometry{p},
               [&](std::int64_t out, std::int64_t image, const Window& row, const Window& column) {
                 for (std::int64_t c = 0; c < p.channels; c += kChannelStep) {
                   max_of_window(p,
                                 row,
                                 column,
                                 x.as<T>() + image + c,
                                 y.as<T>() + out + c,
                                 index.as<std::int32_t>() + out + c,
                                 std::min(kChannelStep, p.channels - c));
                 }
               });
  });
}

void max_pool_scatter(
    const HostStream& s, const Pooling& p, const View& dy, const View& index, const View& dx) {
  if (p.channels == 1) return plane::max_pool_scatter(s, p, dy, index, dx);
  with_float(dx.dtype, [&]<class T>() {
    scatter_max(s, Geometry{p}, dy.as<T>(), index.as<std::int32_t>(), dx.as<T>());
  });
}

void max_pool_gather(
    const HostStream& s, const Pooling& p, const View& x, const View& index, const View& y) {
  if (p.channels == 1) return plane::max_pool_gather(s, p, x, index, y);
  with_float(x.dtype, [&]<class T>() {
    const T* const from = x.as<T>();
    const std::int32_t* const at = index.as<std::int32_t>();
    T* const to = y.as<T>();
    for_pixels(
        s, Geometry{p}, [&](std::int64_t out, std::int64_t image, const Window&, const Window&) {
          for (std::int64_t c = 0; c < p.channels; ++c)
            to[out + c] = from[image + at[out + c] * p.channels + c];
        });
  });
}

void avg_pool(const HostStream& s, const Pooling& p, const View& x, const View& y) {
  if (p.channels == 1) return plane::avg_pool(s, p, x, y);
  with_float(x.dtype, [&]<class T>() {
    const T* const from = x.as<T>();
    T* const to = y.as<T>();
    for_pixels(s,
               Geometry{p},
               [&](std::int64_t out, std::int64_t image, const Window& row, const Window& column) {
                 const T count = static_cast<T>(row.count * column.count);
                 std::fill_n(to + out, p.channels, T(0));
                 for_window(p, row, column, [&](std::int64_t position) {
                   const T* const pixel = from + image + position * p.channels;
                   for (std::int64_t c = 0; c < p.channels; ++c)
                     to[out + c] += pixel[c];
                 });
                 for (std::int64_t c = 0; c < p.channels; ++c)
                   to[out + c] /= count;
               });
  });
}

void avg_pool_grad(const HostStream& s, const Pooling& p, const View& dy, const View& dx) {
  if (p.channels == 1) return plane::avg_pool_grad(s, p, dy, dx);
  with_float(dx.dtype, [&]<class T>() {
    const T* const from = dy.as<T>();
    T* const to = dx.as<T>();
    const Geometry g{p};
    zero(s, g, to);
    for_pixels(
        s, g, [&](std::int64_t out, std::int64_t image, const Window& row, const Window& column) {
          const T count = static_cast<T>(row.count * column.count);
          for_window(p, row, column, [&](std::int64_t position) {
            T* const pixel = to + image + position * p.channels;
            for (std::int64_t c = 0; c < p.channels; ++c)
              pixel[c] += from[out + c] / count;
          });
        });
  });
}

}  // namespace tandem::kernels
