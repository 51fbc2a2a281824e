// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/batch_norm.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tandem/runtime/buffer.hpp"

#include "kernels/batch_norm.inl"
#include "kernels/batch_norm_moments.hpp"
#include "kernels/for_each.hpp"

// One pass over memory each: a block that fits the first-level cache is summed in the tensor's
// type, blocks are joined in f64.
namespace tandem::kernels {
namespace {

/// f64 numbers of a call, from the device's allocator.
class Doubles {
 public:
  Doubles(const HostStream& s, std::int64_t n)
      : buffer_(s.device, static_cast<std::size_t>(n) * sizeof(double), Category::workspace) {
    if (s.computes) std::fill_n(data(), n, 0.0);
  }
  double* data() const { return static_cast<double*>(buffer_.data()); }

 private:
  Buffer buffer_;
};

/// Parts that rows (channels-last) or channels are cut into.
std::int64_t tiles_of(const HostStream& s, const NormLayout& l) {
  const std::int64_t items = l.inner == 1 ? l.outer : l.channels;
  const std::int64_t size = l.inner == 1 ? l.channels : l.count();
  return std::min(std::max<std::int64_t>(1, items), tile_count(s, items * size, kGrain));
}

/// Calls f(tile, begin, end) for tiles of [0, n).
template <class F>
void for_tiles(const HostStream& s, std::int64_t tiles, std::int64_t n, F f) {
  for_each_tile(s, tiles, [&](std::int64_t t) { f(t, n * t / tiles, n * (t + 1) / tiles); });
}

/// Affine maps as plain arrays.
template <class T>
struct Maps {
  const T* mean;
  const T* scale;
  std::vector<T> bias;
  explicit Maps(const Affine& a, std::int64_t channels)
      : mean(a.mean.as<T>()),
        scale(a.scale.as<T>()),
        bias(static_cast<std::size_t>(channels), T(0)) {
    if (a.bias.data != nullptr) std::copy_n(a.bias.as<T>(), channels, bias.begin());
  }
};

/// Calls f(offset, first channel, length, step) for the rows (step 1: channels run with the
/// elements) or planes (step 0: one channel) of the tensor.
template <class F>
void for_lines(const HostStream& s, const NormLayout& l, F f) {
  const std::int64_t lines = l.inner == 1 ? l.outer : l.outer * l.channels;
  const std::int64_t length = l.inner == 1 ? l.channels : l.inner;
  const std::int64_t tiles =
      std::min(std::max<std::int64_t>(1, lines), tile_count(s, lines * length, kGrain));
  for_tiles(s, tiles, lines, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      f(i * length, l.inner == 1 ? 0 : i % l.channels, length);
  });
}

template <class T, After kAfter>
void normalize(
    const HostStream& s, const NormLayout& l, const View& x, const Affine& affine, const View& y) {
  const Maps<T> maps(affine, l.channels);
  const T* const bias = maps.bias.data();
  for_lines(s, l, [&](std::int64_t at, std::int64_t c, std::int64_t n) {
    const T* const in = x.as<T>() + at;
    T* const out = y.as<T>() + at;
    if (l.inner == 1) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i) {
        const T v = (in[i] - maps.mean[i]) * maps.scale[i] + bias[i];
        out[i] = pass<T, kAfter>(v, v);
      }
      return;
    }
    const T mean = maps.mean[c], scale = maps.scale[c], shift = bias[c];
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) {
      const T v = (in[i] - mean) * scale + shift;
      out[i] = pass<T, kAfter>(v, v);
    }
  });
}

/// Coefficients of dx = dy * scale + (x - mean) * slope + offset.
template <class T>
struct GradientMaps {
  std::vector<T> slope, offset;

  GradientMaps(const Affine& a,
               const View& sums,
               const View& rstd,
               const BatchCount& batch,
               std::int64_t channels)
      : slope(static_cast<std::size_t>(channels), T(0)),
        offset(static_cast<std::size_t>(channels), T(0)) {
    if (sums.data == nullptr) return;
    const double count = count_of(batch);
    for (std::int64_t c = 0; c < channels; ++c) {
      const double scale = static_cast<double>(a.scale.as<T>()[c]),
                   r = static_cast<double>(rstd.as<T>()[c]);
      const auto i = static_cast<std::size_t>(c);
      offset[i] = static_cast<T>(-scale * sums.as<double>()[c] / count);
      slope[i] = static_cast<T>(-scale * r * r * sums.as<double>()[channels + c] / count);
    }
  }
};

template <class T, After kAfter, From kFrom>
void input_grad(const HostStream& s,
                const NormLayout& l,
                const View& x,
                const Affine& affine,
                const View& dy,
                const GradientMaps<T>& gradient,
                const View& dx) {
  const Maps<T> maps(affine, l.channels);
  const T *const bias = maps.bias.data(), *const slope = gradient.slope.data(),
                 *const offset = gradient.offset.data();
  for_lines(s, l, [&](std::int64_t at, std::int64_t c, std::int64_t n) {
    const T *const in = x.as<T>() + at, *const d = dy.as<T>() + at;
    T* const out = dx.as<T>() + at;
    if (l.inner == 1) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i)
        out[i] = gradient_of<T, kAfter, kFrom>(
            d[i], in[i] - maps.mean[i], maps.scale[i], bias[i], slope[i], offset[i]);
      return;
    }
    const T mean = maps.mean[c], scale = maps.scale[c], shift = bias[c], sl = slope[c],
            off = offset[c];
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i)
      out[i] = gradient_of<T, kAfter, kFrom>(d[i], in[i] - mean, scale, shift, sl, off);
  });
}

}  // namespace

void batch_moments(const HostStream& s, const NormLayout& l, const View& x, const View& moments) {
  double* const out = moments.as<double>();
  const std::int64_t width = 1 + 2 * l.channels;
  with_float(x.dtype, [&]<class T>() {
    const std::int64_t tiles = tiles_of(s, l);
    const Doubles parts(s, l.inner > 1 ? 0 : tiles * width);
    if (!s.computes) return;
    if (l.inner > 1) {  // a tile has whole channels: no parts to join
      out[0] = static_cast<double>(l.count());
      for_tiles(s, tiles, l.channels, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) {
          const Moments m = plane_moments(l, x.as<T>(), c);
          out[1 + c] = m.mean;
          out[1 + l.channels + c] = m.squares;
        }
      });
      return;
    }
    for_tiles(s, tiles, l.outer, [&](std::int64_t t, std::int64_t begin, std::int64_t end) {
      row_moments(x.as<T>(), l.channels, begin, end, parts.data() + t * width);
    });
    merge_moments(s, View{parts.data(), DType::f64, {tiles, width}, {width, 1}}, moments);
  });
}

void merge_moments(const HostStream&, const View& parts, const View& moments) {
  const std::int64_t width = parts.shape[1], channels = (width - 1) / 2;
  double* const out = moments.as<double>();
  std::fill_n(out, width, 0.0);
  for (std::int64_t p = 0; p < parts.shape[0]; ++p)
    join_moments(channels, parts.as<double>() + p * width, out);
}

void finish_moments(const HostStream&,
                    double eps,
                    const View& moments,
                    const View& mean,
                    const View& var,
                    const View& rstd) {
  with_float(mean.dtype, [&]<class T>() {
    const double* const m = moments.as<double>();
    const std::int64_t channels = mean.numel();
    for (std::int64_t c = 0; c < channels; ++c) {
      const double v = m[0] > 0 ? m[1 + channels + c] / m[0] : 0;
      mean.as<T>()[c] = static_cast<T>(m[1 + c]);
      var.as<T>()[c] = static_cast<T>(v);
      rstd.as<T>()[c] = static_cast<T>(1 / std::sqrt(v + eps));
    }
  });
}

void batch_norm(
    const HostStream& s, const NormLayout& l, const View& x, const Affine& affine, const View& y) {
  with_after(x.dtype, affine.after, [&]<class T, After kAfter>() {
    normalize<T, kAfter>(s, l, x, affine, y);
  });
}

void batch_norm_sums(const HostStream& s,
                     const NormLayout& l,
                     const View& x,
                     const Affine& affine,
                     const View& dy,
                     const View& sums) {
  double* const out = sums.as<double>();
  with_after(x.dtype, affine.after, [&]<class T, After kAfter>() {
    const std::int64_t tiles = tiles_of(s, l), width = 2 * l.channels;
    const Doubles parts(s, l.inner > 1 ? 0 : tiles * width);
    if (!s.computes) return;
    const Maps<T> maps(affine, l.channels);
    const auto centred = [](const Centre<T>& c, T v, T d) {
      const T x0 = v - c.mean;
      return std::pair<T, T>(pass<T, kAfter>(x0 * c.scale + c.bias, d), x0);
    };
    if (l.inner > 1) {
      for_tiles(s, tiles, l.channels, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) {
          const Centre<T> centre{
              maps.mean[c], maps.scale[c], maps.bias[static_cast<std::size_t>(c)]};
          const auto [sum, product] = plane_sums(l, x.as<T>(), dy.as<T>(), c, centre, centred);
          out[c] = sum;
          out[l.channels + c] = product;
        }
      });
      return;
    }
    for_tiles(s, tiles, l.outer, [&](std::int64_t t, std::int64_t begin, std::int64_t end) {
      row_sums(x.as<T>(),
               dy.as<T>(),
               l.channels,
               begin,
               end,
               maps.mean,
               maps.scale,
               maps.bias.data(),
               centred,
               parts.data() + t * width);
    });
    std::fill_n(out, width, 0.0);
    for (std::int64_t t = 0; t < tiles; ++t) {
      for (std::int64_t i = 0; i < width; ++i)
        out[i] += parts.data()[t * width + i];
    }
  });
}

void batch_norm_input_grad(const HostStream& s,
                           const NormLayout& l,
                           const View& x,
                           const Affine& affine,
                           const View& dy,
                           const View& sums,
                           const View& rstd,
                           const BatchCount& count,
                           const View& dx) {
  with_after(x.dtype, affine.after, [&]<class T, After kAfter>() {
    const GradientMaps<T> gradient(affine, sums, rstd, count, l.channels);
    if (sums.data == nullptr)
      input_grad<T, kAfter, From::constants>(s, l, x, affine, dy, gradient, dx);
    else
      input_grad<T, kAfter, From::batch>(s, l, x, affine, dy, gradient, dx);
  });
}

void batch_norm_parameter_grads(
    const HostStream&, const View& sums, const View& rstd, const View& dweight, const View& dbias) {
  with_float(rstd.dtype, [&]<class T>() {
    const double* const from = sums.as<double>();
    const std::int64_t channels = rstd.numel();
    for (std::int64_t c = 0; c < channels; ++c) {
      dweight.as<T>()[c] =
          static_cast<T>(from[channels + c] * static_cast<double>(rstd.as<T>()[c]));
      dbias.as<T>()[c] = static_cast<T>(from[c]);
    }
  });
}

}  // namespace tandem::kernels
