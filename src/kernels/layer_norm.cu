// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "kernels/batch_norm.inl"
#include "kernels/cuda/launch.hpp"
#include "kernels/divisor.hpp"
#include "kernels/layer_norm.hpp"
#include "kernels/workspace.hpp"

namespace tandem::kernels {
namespace {

/// Elements of rows and of channels.
struct Rows {
  Divisor length, groups, inner, row_channels;

  explicit Rows(const RowLayout& l)
      : length(l.length), groups(l.groups), inner(l.inner), row_channels(l.row_channels()) {}
  TANDEM_HD std::int64_t channel(std::int64_t row, std::int64_t i) const {
    return groups.split(row).remainder * row_channels.value() + inner.quotient(i);
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

  struct Run {
    const T* x;
    MomentsRun<A> sum;
    TANDEM_HD void add(std::int64_t i) { sum.add(static_cast<A>(x[i])); }
    TANDEM_HD Total total() const { return sum.moments(); }
  };
  TANDEM_HD Run run(std::int64_t row) const { return {x + row * rows.length.value(), {}}; }
  TANDEM_HD Total join(const Total& a, const Total& b) const { return Moments::joined(a, b); }
  TANDEM_HD void store(std::int64_t row, const Total& m) const {
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
    const auto [row, at] = rows.length.split(i);
    const std::int64_t c = rows.channel(row, at);
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
    return static_cast<A>(dy[row * rows.length.value() + i]) * w;
  }
  TANDEM_HD A normal(std::int64_t row, std::int64_t i) const {
    return (static_cast<A>(x[row * rows.length.value() + i]) - mean[row]) * rstd[row];
  }
};

/// Per row: means of g and g * h.
template <class T, class A>
struct RowMeans {
  using Total = GradSums;
  GradInputs<T, A> in;
  A* means;  // (rows, 2)

  struct Run {
    const GradInputs<T, A>& in;
    std::int64_t row;
    A first, second;
    TANDEM_HD void add(std::int64_t i) {
      const A g = in.scaled(row, i);
      first += g;
      second += g * in.normal(row, i);
    }
    TANDEM_HD Total total() const {
      return {static_cast<double>(first), static_cast<double>(second)};
    }
  };
  TANDEM_HD Run run(std::int64_t row) const { return {in, row, A(0), A(0)}; }
  TANDEM_HD Total join(Total a, Total b) const { return {a.first + b.first, a.second + b.second}; }
  TANDEM_HD void store(std::int64_t row, Total t) const {
    const auto n = static_cast<double>(in.rows.length.value());
    means[2 * row] = static_cast<A>(t.first / n);
    means[2 * row + 1] = static_cast<A>(t.second / n);
  }
};

template <class T, class A>
struct RowInputGrad {
  GradInputs<T, A> in;
  const A* means;
  T* dx;

  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [row, at] = in.rows.length.split(i);
    const A offset = means[2 * row], slope = means[2 * row + 1];
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

  struct Run {
    const GradInputs<T, A>& in;
    std::int64_t first_row, first_place;  // of the channel
    A scaled, plain;
    TANDEM_HD void add(std::int64_t i) {
      const auto [image, at] = in.rows.inner.split(i);
      const std::int64_t row = image * in.rows.groups.value() + first_row;
      const A d = static_cast<A>(in.dy[row * in.rows.length.value() + first_place + at]);
      scaled += d * in.normal(row, first_place + at);
      plain += d;
    }
    TANDEM_HD Total total() const {
      return {static_cast<double>(scaled), static_cast<double>(plain)};
    }
  };
  TANDEM_HD Run run(std::int64_t channel) const {
    const auto [row, place] = in.rows.row_channels.split(channel);
    return {in, row, place * in.rows.inner.value(), A(0), A(0)};
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
      const Workspace<A> means(s.device, 2 * l.rows);
      reduce_each(s, l.rows, l.length, Walk::along, RowMeans<T, A>{in, means.data()});
      for_each(s, l.rows * l.length, RowInputGrad<T, A>{in, means.data(), grads.dx.as<T>()});
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
