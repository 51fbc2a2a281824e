// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <limits>

#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/dispatch.hpp"

#include "kernels/cuda/launch.hpp"
#include "kernels/pool.hpp"

namespace tandem::kernels {
namespace {

/// A pooling as a kernel sees it: windows lie in device memory.
struct Planes {
  std::int64_t channels, h, w, oh, ow;
  const Window* rows;
  const Window* columns;

  /// An output element: its channel, its image's place in x, its windows.
  struct Place {
    std::int64_t channel, image;
    Window row, column;
  };
  TANDEM_HD Place place(std::int64_t i) const {
    const std::int64_t c = i % channels, pixel = i / channels;
    const std::int64_t in_plane = pixel % (oh * ow);
    return {c, pixel / (oh * ow) * (h * w * channels), rows[in_plane / ow], columns[in_plane % ow]};
  }
  /// Where the plane's position lies in x.
  TANDEM_HD std::int64_t offset(const Place& p, std::int64_t position) const {
    return p.image + position * channels + p.channel;
  }
};

/// The windows of a call, copied to the device.
class DeviceWindows {
 public:
  DeviceWindows(const CudaStream& s, const Pooling& p)
      : rows_(nbytes(p.rows)),
        buffer_(s.device, rows_ + nbytes(p.columns), Category::workspace),
        pooling_(p) {
    write(p.rows.data(), buffer_, 0, rows_);
    write(p.columns.data(), buffer_, rows_, nbytes(p.columns));
  }
  Planes planes() const {
    const auto* first = static_cast<const char*>(buffer_.data());
    return {pooling_.channels,
            pooling_.h,
            pooling_.w,
            static_cast<std::int64_t>(pooling_.rows.size()),
            static_cast<std::int64_t>(pooling_.columns.size()),
            reinterpret_cast<const Window*>(first),
            reinterpret_cast<const Window*>(first + rows_)};
  }

 private:
  static std::size_t nbytes(const std::vector<Window>& windows) {
    return windows.size() * sizeof(Window);
  }

  std::size_t rows_;
  Buffer buffer_;
  const Pooling& pooling_;
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
    std::int64_t at = p.row.begin * planes.w + p.column.begin;
    for (std::int64_t r = p.row.begin; r < p.row.end; ++r) {
      for (std::int64_t c = p.column.begin; c < p.column.end; ++c) {
        const T v = x[planes.offset(p, r * planes.w + c)];
        if (v > best || v != v) {
          best = v;
          at = r * planes.w + c;
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
        sum += x[planes.offset(p, r * planes.w + c)];
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
    const std::int64_t c = i % planes.channels, pixel = i / planes.channels;
    const std::int64_t plane = planes.h * planes.w, position = pixel % plane;
    const std::int64_t row = position / planes.w, column = position % planes.w;
    const std::int64_t first = pixel / plane * planes.oh * planes.ow;
    T sum = T(0);
    for (std::int64_t r = first_of(planes.rows, planes.oh, row);
         r < planes.oh && planes.rows[r].begin <= row;
         ++r) {
      if (planes.rows[r].end <= row) continue;
      for (std::int64_t k = first_of(planes.columns, planes.ow, column);
           k < planes.ow && planes.columns[k].begin <= column;
           ++k) {
        if (planes.columns[k].end <= column) continue;
        const std::int64_t output = (first + r * planes.ow + k) * planes.channels + c;
        sum += share(output, planes.rows[r].count * planes.columns[k].count, position);
      }
    }
    dx[i] = sum;
  }

 private:
  /// The first window that ends behind `at`: ends and beginnings grow from window to window.
  TANDEM_HD static std::int64_t first_of(const Window* windows, std::int64_t n, std::int64_t at) {
    std::int64_t low = 0;
    while (low < n) {
      const std::int64_t middle = (low + n) / 2;
      if (windows[middle].end <= at)
        low = middle + 1;
      else
        n = middle;
    }
    return low;
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
  const DeviceWindows windows(s, p);
  with_float(x.dtype, [&]<class T>() {
    for_each(s,
             outputs(p),
             MaxPool<T>{windows.planes(), x.as<const T>(), y.as<T>(), index.as<std::int32_t>()});
  });
}

void max_pool_scatter(
    const CudaStream& s, const Pooling& p, const View& dy, const View& index, const View& dx) {
  const DeviceWindows windows(s, p);
  with_float(dx.dtype, [&]<class T>() {
    const MaxShare<T> share{dy.as<const T>(), index.as<const std::int32_t>()};
    for_each(s, inputs(p), PoolGrad<T, MaxShare<T>>{windows.planes(), share, dx.as<T>()});
  });
}

void max_pool_gather(
    const CudaStream& s, const Pooling& p, const View& x, const View& index, const View& y) {
  const DeviceWindows windows(s, p);
  with_float(x.dtype, [&]<class T>() {
    for_each(s,
             outputs(p),
             MaxPoolGather<T>{
                 windows.planes(), x.as<const T>(), index.as<const std::int32_t>(), y.as<T>()});
  });
}

void avg_pool(const CudaStream& s, const Pooling& p, const View& x, const View& y) {
  const DeviceWindows windows(s, p);
  with_float(x.dtype, [&]<class T>() {
    for_each(s, outputs(p), AvgPool<T>{windows.planes(), x.as<const T>(), y.as<T>()});
  });
}

void avg_pool_grad(const CudaStream& s, const Pooling& p, const View& dy, const View& dx) {
  const DeviceWindows windows(s, p);
  with_float(dx.dtype, [&]<class T>() {
    const AvgShare<T> share{dy.as<const T>()};
    for_each(s, inputs(p), PoolGrad<T, AvgShare<T>>{windows.planes(), share, dx.as<T>()});
  });
}

}  // namespace tandem::kernels
