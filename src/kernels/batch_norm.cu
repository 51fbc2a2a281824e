// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "kernels/batch_norm.hpp"
#include "kernels/batch_norm.inl"
#include "kernels/cuda/put_each.hpp"
#include "kernels/divisor.hpp"
#include "kernels/workspace.hpp"

namespace tandem::kernels {
namespace {

/// Elements of one channel, counted over images and planes.
struct Channels {
  Divisor channels, inner;

  explicit Channels(const NormLayout& l) : channels(l.channels), inner(l.inner) {}
  TANDEM_HD std::int64_t offset(std::int64_t channel, std::int64_t i) const {
    if (inner.value() == 1) return i * channels.value() + channel;
    const auto [image, at] = inner.split(i);
    return (image * channels.value() + channel) * inner.value() + at;
  }
  TANDEM_HD std::int64_t channel(std::int64_t element) const {
    return channels.split(inner.value() == 1 ? element : inner.quotient(element)).remainder;
  }
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

  struct Run {
    const BatchMoments& of;
    std::int64_t channel;
    MomentsRun<T> sum;
    TANDEM_HD T load(std::int64_t i) const { return of.x[of.channels.offset(channel, i)]; }
    template <int kCount>
    TANDEM_HD void add(const T (&values)[kCount]) {
      sum.add(values);
    }
    TANDEM_HD Total total() const { return sum.moments(); }
  };
  TANDEM_HD Run run(std::int64_t channel) const { return {*this, channel, {}}; }
  TANDEM_HD Total join(const Total& a, const Total& b) const { return Moments::joined(a, b); }
  TANDEM_HD void store(std::int64_t channel, const Total& m) const {
    if (channel == 0) out[0] = m.count;
    out[1 + channel] = m.mean;
    out[1 + channels.channels.value() + channel] = m.squares;
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

  TANDEM_HD T load(std::int64_t i) const { return x[i]; }
  TANDEM_HD void put(std::int64_t i, T value) const {
    const std::int64_t c = channels.channel(i);
    const T v = (value - maps.mean[c]) * maps.scale[c] + maps.shift(c);
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

  struct Run {
    const GradientSums& of;
    std::int64_t channel;
    T mean, scale, shift;
    T sum, centred;
    struct Value {
      T x, dy;
    };
    TANDEM_HD Value load(std::int64_t i) const {
      const std::int64_t e = of.channels.offset(channel, i);
      return {of.x[e], of.dy[e]};
    }
    template <int kCount>
    TANDEM_HD void add(const Value (&values)[kCount]) {
      for (const Value& value : values) {
        const T x0 = value.x - mean;
        const T d = pass<T, kAfter>(x0 * scale + shift, value.dy);
        sum += d;
        centred += d * x0;
      }
    }
    TANDEM_HD Total total() const {
      return {static_cast<double>(sum), static_cast<double>(centred)};
    }
  };
  TANDEM_HD Run run(std::int64_t c) const {
    return {*this, c, maps.mean[c], maps.scale[c], maps.shift(c), T(0), T(0)};
  }
  TANDEM_HD Total join(Total a, Total b) const { return {a.dy + b.dy, a.centred + b.centred}; }
  TANDEM_HD void store(std::int64_t c, Total sums) const {
    out[c] = sums.dy;
    out[channels.channels.value() + c] = sums.centred;
  }
};

/// By channel: how dx depends on the whole batch.
template <class T>
struct BatchShare {
  std::int64_t channels;
  const double* sums;
  const T* scale;
  const T* rstd;
  BatchCount batch;
  T* slope;
  T* offset;

  TANDEM_HD void operator()(std::int64_t c) const {
    const double s = static_cast<double>(scale[c]), r = static_cast<double>(rstd[c]);
    const double count = count_of(batch);
    offset[c] = static_cast<T>(-s * sums[c] / count);
    slope[c] = static_cast<T>(-s * r * r * sums[channels + c] / count);
  }
};

template <class T, After kAfter, From kFrom>
struct InputGrad {
  Channels channels;
  Maps<T> maps;
  const T* x;
  const T* dy;
  const T* slope;  // by channel; null without a batch
  const T* offset;
  T* dx;

  struct Value {
    T x, dy;
  };
  TANDEM_HD Value load(std::int64_t i) const { return {x[i], dy[i]}; }
  TANDEM_HD void put(std::int64_t i, const Value& value) const {
    const std::int64_t c = channels.channel(i);
    const bool batch = kFrom == From::batch;
    dx[i] = gradient_of<T, kAfter, kFrom>(value.dy,
                                          value.x - maps.mean[c],
                                          maps.scale[c],
                                          maps.shift(c),
                                          batch ? slope[c] : T(0),
                                          batch ? offset[c] : T(0));
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
    put_each(s,
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
                           const BatchCount& count,
                           const View& dx) {
  with_after(x.dtype, affine.after, [&]<class T, After kAfter>() {
    const auto run = [&]<From kFrom>(const T* slope, const T* offset) {
      put_each(s,
               l.channels * l.count(),
               InputGrad<T, kAfter, kFrom>{Channels(l),
                                           Maps<T>(affine),
                                           x.as<const T>(),
                                           dy.as<const T>(),
                                           slope,
                                           offset,
                                           dx.as<T>()});
    };
    if (sums.data == nullptr) return run.template operator()<From::constants>(nullptr, nullptr);
    const Workspace<T> shares(s.device, 2 * l.channels);
    T* const slope = shares.data();
    T* const offset = slope + l.channels;
    for_each(s,
             l.channels,
             BatchShare<T>{l.channels,
                           sums.as<const double>(),
                           affine.scale.as<const T>(),
                           rstd.as<const T>(),
                           count,
                           slope,
                           offset});
    run.template operator()<From::batch>(slope, offset);
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
