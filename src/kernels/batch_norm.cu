// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "kernels/batch_norm.hpp"
#include "kernels/batch_norm.inl"
#include "kernels/cuda/launch.hpp"

namespace tandem::kernels {
namespace {

/// Elements of one channel, counted over images and planes.
struct Channels {
  std::int64_t channels, inner;

  explicit Channels(const NormLayout& l) : channels(l.channels), inner(l.inner) {}
  TANDEM_HD std::int64_t offset(std::int64_t channel, std::int64_t i) const {
    if (inner == 1) return i * channels + channel;
    return (i / inner * channels + channel) * inner + i % inner;
  }
  TANDEM_HD std::int64_t channel(std::int64_t element) const { return element / inner % channels; }
};

Walk walk_of(const NormLayout& l) {
  return l.inner == 1 ? Walk::across : Walk::along;
}

/// Affine of the host, with typed pointers.
template <class T>
struct Maps {
  const T* mean;
  const T* scale;
  const T* bias;  // null: zero

  explicit Maps(const Affine& a)
      : mean(a.mean.as<const T>()), scale(a.scale.as<const T>()), bias(a.bias.as<const T>()) {}
  TANDEM_HD T shift(std::int64_t channel) const { return bias == nullptr ? T(0) : bias[channel]; }
};

template <class T>
struct BatchMoments {
  using Total = Moments;
  Channels channels;
  const T* x;
  double* out;  // count, means, squares

  TANDEM_HD Total total() const { return {}; }
  TANDEM_HD Total at(std::int64_t channel, std::int64_t i) const {
    return {1, static_cast<double>(x[channels.offset(channel, i)]), 0};
  }
  TANDEM_HD Total join(Total a, Total b) const {
    a.join(b.count, b.mean, b.squares);
    return a;
  }
  TANDEM_HD void store(std::int64_t channel, Total m) const {
    if (channel == 0) out[0] = m.count;
    out[1 + channel] = m.mean;
    out[1 + channels.channels + channel] = m.squares;
  }
};

struct MergeMoments {
  std::int64_t parts, channels;
  const double* from;
  double* out;

  TANDEM_HD void operator()(std::int64_t channel) const {
    Moments m;
    for (std::int64_t p = 0; p < parts; ++p) {
      const double* part = from + p * (1 + 2 * channels);
      m.join(part[0], part[1 + channel], part[1 + channels + channel]);
    }
    if (channel == 0) out[0] = m.count;
    out[1 + channel] = m.mean;
    out[1 + channels + channel] = m.squares;
  }
};

template <class T>
struct FinishMoments {
  std::int64_t channels;
  double eps;
  const double* m;
  T* mean;
  T* var;
  T* rstd;

  TANDEM_HD void operator()(std::int64_t c) const {
    const double v = m[0] > 0 ? m[1 + channels + c] / m[0] : 0;
    mean[c] = static_cast<T>(m[1 + c]);
    var[c] = static_cast<T>(v);
    rstd[c] = static_cast<T>(1 / std::sqrt(v + eps));
  }
};

template <class T, After kAfter>
struct NormaliseElement {
  Channels channels;
  Maps<T> maps;
  const T* x;
  T* y;

  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t c = channels.channel(i);
    const T v = (x[i] - maps.mean[c]) * maps.scale[c] + maps.shift(c);
    y[i] = pass<T, kAfter>(v, v);
  }
};

struct TwoSums {
  double dy = 0;
  double centred = 0;
};

template <class T, After kAfter>
struct GradientSums {
  using Total = TwoSums;
  Channels channels;
  Maps<T> maps;
  const T* x;
  const T* dy;
  double* out;

  TANDEM_HD Total total() const { return {}; }
  TANDEM_HD Total at(std::int64_t c, std::int64_t i) const {
    const std::int64_t e = channels.offset(c, i);
    const T x0 = x[e] - maps.mean[c];
    const T d = pass<T, kAfter>(x0 * maps.scale[c] + maps.shift(c), dy[e]);
    return {static_cast<double>(d), static_cast<double>(d * x0)};
  }
  TANDEM_HD Total join(Total a, Total b) const { return {a.dy + b.dy, a.centred + b.centred}; }
  TANDEM_HD void store(std::int64_t c, Total sums) const {
    out[c] = sums.dy;
    out[channels.channels + c] = sums.centred;
  }
};

template <class T, After kAfter, From kFrom>
struct InputGrad {
  Channels channels;
  Maps<T> maps;
  const T* x;
  const T* dy;
  const double* sums;
  const T* rstd;
  double count;
  T* dx;

  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t c = channels.channel(i);
    T slope = T(0), offset = T(0);
    if constexpr (kFrom == From::batch) {
      const double scale = static_cast<double>(maps.scale[c]), r = static_cast<double>(rstd[c]);
      offset = static_cast<T>(-scale * sums[c] / count);
      slope = static_cast<T>(-scale * r * r * sums[channels.channels + c] / count);
    }
    dx[i] = gradient_of<T, kAfter, kFrom>(
        dy[i], x[i] - maps.mean[c], maps.scale[c], maps.shift(c), slope, offset);
  }
};

template <class T>
struct ParameterGrads {
  std::int64_t channels;
  const double* sums;
  const T* rstd;
  T* dweight;
  T* dbias;

  TANDEM_HD void operator()(std::int64_t c) const {
    dweight[c] = static_cast<T>(sums[channels + c] * static_cast<double>(rstd[c]));
    dbias[c] = static_cast<T>(sums[c]);
  }
};

}  // namespace

void batch_moments(const CudaStream& s, const NormLayout& l, const View& x, const View& moments) {
  with_float(x.dtype, [&]<class T>() {
    reduce_each(s,
                l.channels,
                l.count(),
                walk_of(l),
                BatchMoments<T>{Channels(l), x.as<const T>(), moments.as<double>()});
  });
}

void merge_moments(const CudaStream& s, const View& parts, const View& moments) {
  const std::int64_t channels = (parts.shape[1] - 1) / 2;
  for_each(s,
           channels,
           MergeMoments{parts.shape[0], channels, parts.as<const double>(), moments.as<double>()});
}

void finish_moments(const CudaStream& s,
                    double eps,
                    const View& moments,
                    const View& mean,
                    const View& var,
                    const View& rstd) {
  with_float(mean.dtype, [&]<class T>() {
    for_each(s,
             mean.numel(),
             FinishMoments<T>{mean.numel(),
                              eps,
                              moments.as<const double>(),
                              mean.as<T>(),
                              var.as<T>(),
                              rstd.as<T>()});
  });
}

void batch_norm(
    const CudaStream& s, const NormLayout& l, const View& x, const Affine& affine, const View& y) {
  with_after(x.dtype, affine.after, [&]<class T, After kAfter>() {
    for_each(s,
             l.channels * l.count(),
             NormaliseElement<T, kAfter>{Channels(l), Maps<T>(affine), x.as<const T>(), y.as<T>()});
  });
}

void batch_norm_sums(const CudaStream& s,
                     const NormLayout& l,
                     const View& x,
                     const Affine& affine,
                     const View& dy,
                     const View& sums) {
  with_after(x.dtype, affine.after, [&]<class T, After kAfter>() {
    reduce_each(
        s,
        l.channels,
        l.count(),
        walk_of(l),
        GradientSums<T, kAfter>{
            Channels(l), Maps<T>(affine), x.as<const T>(), dy.as<const T>(), sums.as<double>()});
  });
}

void batch_norm_input_grad(const CudaStream& s,
                           const NormLayout& l,
                           const View& x,
                           const Affine& affine,
                           const View& dy,
                           const View& sums,
                           const View& rstd,
                           double count,
                           const View& dx) {
  with_after(x.dtype, affine.after, [&]<class T, After kAfter>() {
    const auto run = [&]<From kFrom>() {
      for_each(s,
               l.channels * l.count(),
               InputGrad<T, kAfter, kFrom>{Channels(l),
                                           Maps<T>(affine),
                                           x.as<const T>(),
                                           dy.as<const T>(),
                                           sums.as<const double>(),
                                           rstd.as<const T>(),
                                           count,
                                           dx.as<T>()});
    };
    if (sums.data == nullptr)
      run.template operator()<From::constants>();
    else
      run.template operator()<From::batch>();
  });
}

void batch_norm_parameter_grads(const CudaStream& s,
                                const View& sums,
                                const View& rstd,
                                const View& dweight,
                                const View& dbias) {
  with_float(rstd.dtype, [&]<class T>() {
    for_each(s,
             rstd.numel(),
             ParameterGrads<T>{rstd.numel(),
                               sums.as<const double>(),
                               rstd.as<const T>(),
                               dweight.as<T>(),
                               dbias.as<T>()});
  });
}

}  // namespace tandem::kernels
