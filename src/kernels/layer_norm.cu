// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "kernels/batch_norm.inl"
#include "kernels/cuda/lines.hpp"
#include "kernels/divisor.hpp"
#include "kernels/layer_norm.hpp"

namespace tandem::kernels {
namespace {

/// Elements of rows and of channels.
struct Rows {
  Divisor length, groups, inner, row_channels;

  explicit Rows(const RowLayout& l)
      : length(l.length), groups(l.groups), inner(l.inner), row_channels(l.row_channels()) {}
  TANDEM_HD std::int64_t first(std::int64_t row) const { return row * length.value(); }
  /// The channel of the first element.
  TANDEM_HD std::int64_t channel(std::int64_t row) const {
    return groups.split(row).remainder * row_channels.value();
  }
  /// i / inner: layer norm is spared the division.
  TANDEM_HD std::int64_t over_inner(std::int64_t i) const {
    return inner.value() == 1 ? i : inner.quotient(i);
  }
};

/// Moments of a row, and then its elements normalised.
template <class T>
struct NormaliseRows {
  using Total = Moments;
  struct Line {
    T mean, rstd;
  };
  Rows rows;
  double eps;
  const T* x;
  const T* weight;
  const T* bias;
  T* mean;
  T* rstd;
  T* y;

  struct Run {
    const T* x;
    MomentsRun<T> sum;
    TANDEM_HD T load(std::int64_t i) const { return x[i]; }
    template <int kCount>
    TANDEM_HD void add(const T (&values)[kCount]) {
      sum.add(values);
    }
    TANDEM_HD Total total() const { return sum.moments(); }
  };
  TANDEM_HD Run run(std::int64_t row) const { return {x + rows.first(row), {}}; }
  TANDEM_HD Total join(const Total& a, const Total& b) const { return Moments::joined(a, b); }
  TANDEM_HD Line finish(std::int64_t row, const Total& m) const {
    mean[row] = static_cast<T>(m.mean);
    rstd[row] = static_cast<T>(1 / std::sqrt(m.squares / m.count + eps));
    return {mean[row], rstd[row]};
  }

  struct Each {
    const NormaliseRows& of;
    Line line;
    std::int64_t first, channel;  // of the row
    struct Value {
      T x, weight, bias;
    };
    TANDEM_HD Value load(std::int64_t i) const {
      const std::int64_t c = channel + of.rows.over_inner(i);
      return {of.x[first + i],
              of.weight == nullptr ? T(1) : of.weight[c],
              of.bias == nullptr ? T(0) : of.bias[c]};
    }
    TANDEM_HD void put(std::int64_t i, const Value& v) const {
      of.y[first + i] = (v.x - line.mean) * line.rstd * v.weight + v.bias;
    }
  };
  TANDEM_HD Each each(std::int64_t row, Line line) const {
    return {*this, line, rows.first(row), rows.channel(row)};
  }
};

struct GradSums {
  double first = 0;
  double second = 0;
  TANDEM_HD static GradSums join(GradSums a, GradSums b) {
    return {a.first + b.first, a.second + b.second};
  }
};

/// What the gradients' functors read.
template <class T>
struct GradInputs {
  Rows rows;
  const T* dy;
  const T* x;
  const T* weight;
  const T* mean;
  const T* rstd;
};

/// With g = dy * weight and h the normal of x: per row the means of g and g * h, and then dx.
template <class T>
struct InputGradRows {
  using Total = GradSums;
  struct Line {
    T offset, slope;
  };
  GradInputs<T> in;
  T* dx;

  struct Value {
    T dy, x, weight;
  };
  /// A row, with its sums.
  struct Run {
    const GradInputs<T>& in;
    std::int64_t first_element, channel;
    T mean, rstd, first, second;
    TANDEM_HD Value load(std::int64_t i) const {
      const std::int64_t c = channel + in.rows.over_inner(i);
      return {in.dy[first_element + i],
              in.x[first_element + i],
              in.weight == nullptr ? T(1) : in.weight[c]};
    }
    TANDEM_HD T normal(const Value& v) const { return (v.x - mean) * rstd; }
    template <int kCount>
    TANDEM_HD void add(const Value (&values)[kCount]) {
      for (const Value& v : values) {
        const T g = v.dy * v.weight;
        first += g;
        second += g * normal(v);
      }
    }
    TANDEM_HD Total total() const {
      return {static_cast<double>(first), static_cast<double>(second)};
    }
  };
  TANDEM_HD Run run(std::int64_t row) const {
    return {in, in.rows.first(row), in.rows.channel(row), in.mean[row], in.rstd[row], T(0), T(0)};
  }
  TANDEM_HD Total join(Total a, Total b) const { return Total::join(a, b); }
  TANDEM_HD Line finish(std::int64_t, Total t) const {
    const auto n = static_cast<double>(in.rows.length.value());
    return {static_cast<T>(t.first / n), static_cast<T>(t.second / n)};
  }

  struct Each {
    Run row;
    Line line;
    T* dx;
    TANDEM_HD Value load(std::int64_t i) const { return row.load(i); }
    TANDEM_HD void put(std::int64_t i, const Value& v) const {
      dx[row.first_element + i] =
          row.rstd * (v.dy * v.weight - line.offset - row.normal(v) * line.slope);
    }
  };
  TANDEM_HD Each each(std::int64_t row, Line line) const { return {run(row), line, dx}; }
};

/// Per channel: sums of dy * h and dy.
template <class T>
struct ChannelSums {
  using Total = GradSums;
  GradInputs<T> in;
  T* dweight;
  T* dbias;

  struct Run {
    const GradInputs<T>& in;
    std::int64_t first_row, first_place;  // of the channel
    T scaled, plain;
    struct Value {
      T dy, x, mean, rstd;
    };
    TANDEM_HD Value load(std::int64_t i) const {
      const std::int64_t image = in.rows.over_inner(i);
      const std::int64_t at = i - image * in.rows.inner.value();
      const std::int64_t row = image * in.rows.groups.value() + first_row;
      const std::int64_t element = in.rows.first(row) + first_place + at;
      return {in.dy[element], in.x[element], in.mean[row], in.rstd[row]};
    }
    template <int kCount>
    TANDEM_HD void add(const Value (&values)[kCount]) {
      for (const Value& v : values) {
        scaled += v.dy * ((v.x - v.mean) * v.rstd);
        plain += v.dy;
      }
    }
    TANDEM_HD Total total() const {
      return {static_cast<double>(scaled), static_cast<double>(plain)};
    }
  };
  TANDEM_HD Run run(std::int64_t channel) const {
    const auto [row, place] = in.rows.row_channels.split(channel);
    return {in, row, place * in.rows.inner.value(), T(0), T(0)};
  }
  TANDEM_HD Total join(Total a, Total b) const { return Total::join(a, b); }
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
    reduce_and_put(s,
                   l.rows,
                   l.length,
                   1,
                   NormaliseRows<T>{Rows(l),
                                    eps,
                                    x.as<const T>(),
                                    weight.as<const T>(),
                                    bias.as<const T>(),
                                    mean.as<T>(),
                                    rstd.as<T>(),
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
    const GradInputs<T> in{Rows(l),
                           dy.as<const T>(),
                           x.as<const T>(),
                           weight.as<const T>(),
                           mean.as<const T>(),
                           rstd.as<const T>()};
    if (grads.dx.data != nullptr)
      reduce_and_put(s, l.rows, l.length, 1, InputGradRows<T>{in, grads.dx.as<T>()});
    if (grads.dweight.data != nullptr) {
      reduce_each(s,
                  l.channels(),
                  l.rows / l.groups * l.inner,
                  l.inner == 1 ? Walk::across : Walk::along,
                  ChannelSums<T>{in, grads.dweight.as<T>(), grads.dbias.as<T>()});
    }
  });
}

}  // namespace tandem::kernels
