// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <limits>

#include "kernels/cuda/launch.hpp"
#include "kernels/divisor.hpp"
#include "kernels/pool.hpp"

namespace tandem::kernels {
namespace {

/// A pooling as a kernel sees it.
struct Planes {
  Divisor channels, w, ow, plane, output_plane;
  PoolAxis rows, columns;

  explicit Planes(const Pooling& p)
      : channels(p.channels),
        w(p.w),
        ow(p.column_axis.outputs()),
        plane(p.h * p.w),
        output_plane(p.row_axis.outputs() * p.column_axis.outputs()),
        rows(p.row_axis),
        columns(p.column_axis) {}

  /// An output element: its channel, its image's place in x, its windows.
  struct Place {
    std::int64_t channel, image;
    Window row, column;
  };
  TANDEM_HD Place place(std::int64_t i) const {
    const auto [pixel, channel] = channels.split(i);
    const auto [image, in_plane] = output_plane.split(pixel);
    const auto [row, column] = ow.split(in_plane);
    return {channel,
            image * plane.value() * channels.value(),
            rows.window(row),
            columns.window(column)};
  }
  /// Where the plane's position lies in x.
  TANDEM_HD std::int64_t offset(const Place& p, std::int64_t position) const {
    return p.image + position * channels.value() + p.channel;
  }
};

template <class T>
struct MaxPool {
  Planes planes;
  const T* x;
  T* y;
  std::int32_t* index;

  TANDEM_HD void operator()(std::int64_t i) const {
    const Planes::Place p = planes.place(i);
    T best = -std::numeric_limits<T>::infinity();
    std::int64_t at = p.row.begin * planes.w.value() + p.column.begin;
    for (std::int64_t r = p.row.begin; r < p.row.end; ++r) {
      for (std::int64_t c = p.column.begin; c < p.column.end; ++c) {
        const T v = x[planes.offset(p, r * planes.w.value() + c)];
        if (v > best || v != v) {
          best = v;
          at = r * planes.w.value() + c;
        }
      }
    }
    y[i] = best;
    index[i] = static_cast<std::int32_t>(at);
  }
};

template <class T>
struct MaxPoolGather {
  Planes planes;
  const T* x;
  const std::int32_t* index;
  T* y;
  TANDEM_HD void operator()(std::int64_t i) const {
    y[i] = x[planes.offset(planes.place(i), index[i])];
  }
};

template <class T>
struct AvgPool {
  Planes planes;
  const T* x;
  T* y;

  TANDEM_HD void operator()(std::int64_t i) const {
    const Planes::Place p = planes.place(i);
    T sum = T(0);
    for (std::int64_t r = p.row.begin; r < p.row.end; ++r) {
      for (std::int64_t c = p.column.begin; c < p.column.end; ++c)
        sum += x[planes.offset(p, r * planes.w.value() + c)];
    }
    y[i] = sum / static_cast<T>(p.row.count * p.column.count);
  }
};

/// One element of dx: the windows that it lies in are looked for, and add up in their order.
template <class T, class Share>
struct PoolGrad {
  Planes planes;
  Share share;  // (output element, its place, position) -> what the position gets of it
  T* dx;

  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [pixel, c] = planes.channels.split(i);
    const auto [image, position] = planes.plane.split(pixel);
    const auto [row, column] = planes.w.split(position);
    const std::int64_t oh = planes.rows.outputs(), ow = planes.columns.outputs();
    const std::int64_t first_column = planes.columns.first_behind(column);
    T sum = T(0);
    for (std::int64_t r = planes.rows.first_behind(row); r < oh; ++r) {
      const Window rows = planes.rows.window(r);
      if (rows.begin > row) break;
      for (std::int64_t k = first_column; k < ow; ++k) {
        const Window columns = planes.columns.window(k);
        if (columns.begin > column) break;
        const std::int64_t output = ((image * oh + r) * ow + k) * planes.channels.value() + c;
        sum += share(output, rows.count * columns.count, position);
      }
    }
    dx[i] = sum;
  }
};

template <class T>
struct MaxShare {
  const T* dy;
  const std::int32_t* index;
  TANDEM_HD T operator()(std::int64_t output, std::int64_t, std::int64_t position) const {
    return index[output] == position ? dy[output] : T(0);
  }
};

template <class T>
struct AvgShare {
  const T* dy;
  TANDEM_HD T operator()(std::int64_t output, std::int64_t count, std::int64_t) const {
    return dy[output] / static_cast<T>(count);
  }
};

std::int64_t outputs(const Pooling& p) {
  return p.pixels() * p.channels;
}
std::int64_t inputs(const Pooling& p) {
  return p.images * p.h * p.w * p.channels;
}

}  // namespace

void max_pool(
    const CudaStream& s, const Pooling& p, const View& x, const View& y, const View& index) {
  with_float(x.dtype, [&]<class T>() {
    for_each(
        s, outputs(p), MaxPool<T>{Planes(p), x.as<const T>(), y.as<T>(), index.as<std::int32_t>()});
  });
}

void max_pool_scatter(
    const CudaStream& s, const Pooling& p, const View& dy, const View& index, const View& dx) {
  with_float(dx.dtype, [&]<class T>() {
    const MaxShare<T> share{dy.as<const T>(), index.as<const std::int32_t>()};
    for_each(s, inputs(p), PoolGrad<T, MaxShare<T>>{Planes(p), share, dx.as<T>()});
  });
}

void max_pool_gather(
    const CudaStream& s, const Pooling& p, const View& x, const View& index, const View& y) {
  with_float(x.dtype, [&]<class T>() {
    for_each(
        s,
        outputs(p),
        MaxPoolGather<T>{Planes(p), x.as<const T>(), index.as<const std::int32_t>(), y.as<T>()});
  });
}

void avg_pool(const CudaStream& s, const Pooling& p, const View& x, const View& y) {
  with_float(x.dtype, [&]<class T>() {
    for_each(s, outputs(p), AvgPool<T>{Planes(p), x.as<const T>(), y.as<T>()});
  });
}

void avg_pool_grad(const CudaStream& s, const Pooling& p, const View& dy, const View& dx) {
  with_float(dx.dtype, [&]<class T>() {
    const AvgShare<T> share{dy.as<const T>()};
    for_each(s, inputs(p), PoolGrad<T, AvgShare<T>>{Planes(p), share, dx.as<T>()});
  });
}

}  // namespace tandem::kernels
