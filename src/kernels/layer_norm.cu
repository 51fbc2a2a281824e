// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "kernels/batch_norm.inl"
#include "kernels/cuda/launch.hpp"
#include "kernels/layer_norm.hpp"
#include "kernels/workspace.hpp"

namespace tandem::kernels {
namespace {

/// Elements of rows and of channels.
struct Rows {
  std::int64_t length, groups, inner, row_channels;

  explicit Rows(const RowLayout& l)
      : length(l.length), groups(l.groups), inner(l.inner), row_channels(l.row_channels()) {}
  TANDEM_HD std::int64_t channel(std::int64_t row, std::int64_t i) const {
    return row % groups * row_channels + i / inner;
  }
  /// Row of element `i` of a channel, and its place in the row.
  TANDEM_HD std::int64_t row_of(std::int64_t channel, std::int64_t i) const {
    return i / inner * groups + channel / row_channels;
  }
  TANDEM_HD std::int64_t place_of(std::int64_t channel, std::int64_t i) const {
    return channel % row_channels * inner + i % inner;
  }
};

template <class T, class A>
struct RowMoments {
  using Total = Moments;
  Rows rows;
  double eps;
  const T* x;
  A* mean;
  A* rstd;

  TANDEM_HD Total total() const { return {}; }
  TANDEM_HD Total at(std::int64_t row, std::int64_t i) const {
    return {1, static_cast<double>(x[row * rows.length + i]), 0};
  }
  TANDEM_HD Total join(Total a, Total b) const {
    a.join(b.count, b.mean, b.squares);
    return a;
  }
  TANDEM_HD void store(std::int64_t row, Total m) const {
    mean[row] = static_cast<A>(m.mean);
    rstd[row] = static_cast<A>(1 / std::sqrt(m.squares / m.count + eps));
  }
};

template <class T, class A>
struct NormaliseRows {
  Rows rows;
  const T* x;
  const T* weight;
  const T* bias;
  const A* mean;
  const A* rstd;
  T* y;

  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t row = i / rows.length, c = rows.channel(row, i - row * rows.length);
    const A w = weight == nullptr ? A(1) : static_cast<A>(weight[c]);
    const A b = bias == nullptr ? A(0) : static_cast<A>(bias[c]);
    y[i] = static_cast<T>((static_cast<A>(x[i]) - mean[row]) * rstd[row] * w + b);
  }
};

struct GradSums {
  double first = 0;
  double second = 0;
};

/// What the gradients' functors read.
template <class T, class A>
struct GradInputs {
  Rows rows;
  const T* dy;
  const T* x;
  const T* weight;
  const A* mean;
  const A* rstd;

  TANDEM_HD A scaled(std::int64_t row, std::int64_t i) const {
    const A w = weight == nullptr ? A(1) : static_cast<A>(weight[rows.channel(row, i)]);
    return static_cast<A>(dy[row * rows.length + i]) * w;
  }
  TANDEM_HD A normal(std::int64_t row, std::int64_t i) const {
    return (static_cast<A>(x[row * rows.length + i]) - mean[row]) * rstd[row];
  }
};

/// Per row: sums of g and g * h.
template <class T, class A>
struct RowSums {
  using Total = GradSums;
  GradInputs<T, A> in;
  double* sums;  // (rows, 2)

  TANDEM_HD Total total() const { return {}; }
  TANDEM_HD Total at(std::int64_t row, std::int64_t i) const {
    const A g = in.scaled(row, i);
    return {static_cast<double>(g), static_cast<double>(g * in.normal(row, i))};
  }
  TANDEM_HD Total join(Total a, Total b) const { return {a.first + b.first, a.second + b.second}; }
  TANDEM_HD void store(std::int64_t row, Total t) const {
    sums[2 * row] = t.first;
    sums[2 * row + 1] = t.second;
  }
};

template <class T, class A>
struct RowInputGrad {
  GradInputs<T, A> in;
  const double* sums;
  T* dx;

  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t row = i / in.rows.length, at = i - row * in.rows.length;
    const double n = static_cast<double>(in.rows.length);
    const A offset = static_cast<A>(sums[2 * row] / n),
            slope = static_cast<A>(sums[2 * row + 1] / n);
    dx[i] =
        static_cast<T>(in.rstd[row] * (in.scaled(row, at) - offset - in.normal(row, at) * slope));
  }
};

/// Per channel: sums of dy * h and dy.
template <class T, class A>
struct ChannelSums {
  using Total = GradSums;
  GradInputs<T, A> in;
  T* dweight;
  T* dbias;

  TANDEM_HD Total total() const { return {}; }
  TANDEM_HD Total at(std::int64_t channel, std::int64_t i) const {
    const std::int64_t row = in.rows.row_of(channel, i), place = in.rows.place_of(channel, i);
    const A d = static_cast<A>(in.dy[row * in.rows.length + place]);
    return {static_cast<double>(d * in.normal(row, place)), static_cast<double>(d)};
  }
  TANDEM_HD Total join(Total a, Total b) const { return {a.first + b.first, a.second + b.second}; }
  TANDEM_HD void store(std::int64_t channel, Total t) const {
    dweight[channel] = static_cast<T>(t.first);
    dbias[channel] = static_cast<T>(t.second);
  }
};

}  // namespace

void row_norm(const CudaStream& s,
              const RowLayout& l,
              double eps,
              const View& x,
              const View& weight,
              const View& bias,
              const View& y,
              const View& mean,
              const View& rstd) {
  with_float(x.dtype, [&]<class T>() {
    using A = T;
    const Rows rows(l);
    reduce_each(s,
                l.rows,
                l.length,
                Walk::along,
                RowMoments<T, A>{rows, eps, x.as<const T>(), mean.as<A>(), rstd.as<A>()});
    for_each(s,
             l.rows * l.length,
             NormaliseRows<T, A>{rows,
                                 x.as<const T>(),
                                 weight.as<const T>(),
                                 bias.as<const T>(),
                                 mean.as<const A>(),
                                 rstd.as<const A>(),
                                 y.as<T>()});
  });
}

void row_norm_grad(const CudaStream& s,
                   const RowLayout& l,
                   const View& dy,
                   const View& x,
                   const View& weight,
                   const View& mean,
                   const View& rstd,
                   const RowNormGrads& grads) {
  with_float(x.dtype, [&]<class T>() {
    using A = T;
    const GradInputs<T, A> in{Rows(l),
                              dy.as<const T>(),
                              x.as<const T>(),
                              weight.as<const T>(),
                              mean.as<const A>(),
                              rstd.as<const A>()};
    if (grads.dx.data != nullptr) {
      const Workspace<double> sums(s.device, 2 * l.rows);
      reduce_each(s, l.rows, l.length, Walk::along, RowSums<T, A>{in, sums.data()});
      for_each(s, l.rows * l.length, RowInputGrad<T, A>{in, sums.data(), grads.dx.as<T>()});
    }
    if (grads.dweight.data != nullptr) {
      reduce_each(s,
                  l.channels(),
                  l.rows / l.groups * l.inner,
                  l.inner == 1 ? Walk::across : Walk::along,
                  ChannelSums<T, A>{in, grads.dweight.as<T>(), grads.dbias.as<T>()});
    }
  });
}

}  // namespace tandem::kernels
