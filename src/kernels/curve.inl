// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Functors of the curves and of their slopes, for both backends: `map` is that of the stream.
#pragma once

#include <cmath>

#include "kernels/curve.hpp"
#include "kernels/exp.inl"

namespace tandem::kernels {
namespace detail {

// A NaN fails every comparison and stays one.
template <class T>
TANDEM_HD T sigmoid_of(T x) {
  return T(1) / (T(1) + bounded_exp(-x));
}

template <class T>
struct SiluCurve {
  TANDEM_HD T operator()(T x) const { return x * sigmoid_of(x); }
  TANDEM_HD T slope(T x) const {
    const T s = sigmoid_of(x);
    return s * (T(1) + x * (T(1) - s));
  }
};
template <class T>
struct LeakyReluCurve {
  T negative;
  TANDEM_HD T operator()(T x) const { return x > T(0) ? x : negative * x; }
  TANDEM_HD T slope(T x) const { return x > T(0) ? T(1) : negative; }
};
template <class T>
struct EluCurve {
  T alpha;
  TANDEM_HD T operator()(T x) const { return x > T(0) ? x : alpha * std::expm1(x); }
  TANDEM_HD T slope(T x) const { return x > T(0) ? T(1) : alpha * std::exp(x); }
};
template <class T>
struct SoftplusCurve {
  T beta, threshold;
  TANDEM_HD T operator()(T x) const {
    return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta;
  }
  TANDEM_HD T slope(T x) const { return x * beta > threshold ? T(1) : sigmoid_of(x * beta); }
};
template <class T>
struct LogSigmoidCurve {
  TANDEM_HD T operator()(T x) const {
    return (x < T(0) ? x : T(0)) - std::log1p(std::exp(-std::abs(x)));
  }
  TANDEM_HD T slope(T x) const { return sigmoid_of(-x); }
};
template <class T>
struct ClampCurve {
  T least, most;
  TANDEM_HD T operator()(T x) const {
    const T low = x < least ? least : x;
    return low > most ? most : low;
  }
  TANDEM_HD T slope(T x) const { return x > least && x < most ? T(1) : T(0); }
};
template <class T>
struct SmoothL1Curve {
  T beta, factor;
  TANDEM_HD T operator()(T x) const {
    const T d = std::abs(x);
    return factor * (d < beta ? T(0.5) * d * d / beta : d - T(0.5) * beta);
  }
  TANDEM_HD T slope(T x) const {
    if (std::abs(x) < beta) return factor * (x / beta);
    return factor * static_cast<T>((x > T(0)) - (x < T(0)));
  }
};

/// dy times the slope.
template <class C>
struct Slope {
  C curve;
  template <class T>
  TANDEM_HD T operator()(T dy, T x) const {
    return dy * curve.slope(x);
  }
};

/// Calls f(functor) with that of `op`.
template <class T, class F>
void with_curve(Curve op, double a, double b, F f) {
  const T p = static_cast<T>(a), q = static_cast<T>(b);
  switch (op) {
    case Curve::silu:
      return f(SiluCurve<T>{});
    case Curve::leaky_relu:
      return f(LeakyReluCurve<T>{p});
    case Curve::elu:
      return f(EluCurve<T>{p});
    case Curve::softplus:
      return f(SoftplusCurve<T>{p, q});
    case Curve::logsigmoid:
      return f(LogSigmoidCurve<T>{});
    case Curve::clamp:
      return f(ClampCurve<T>{p, q});
    case Curve::smooth_l1:
      return f(SmoothL1Curve<T>{p, q});
  }
}

}  // namespace detail

template <class S>
void curve(const S& s, Curve op, double a, double b, const View& x, const View& y) {
  with_any_float(y.dtype, [&]<class T>() {
    detail::with_curve<compute_t<T>>(op, a, b, [&](auto f) { map<T, T>(s, f, y, x); });
  });
}

template <class S>
void curve_grad(
    const S& s, Curve op, double a, double b, const View& dy, const View& x, const View& dx) {
  with_any_float(dx.dtype, [&]<class T>() {
    detail::with_curve<compute_t<T>>(
        op, a, b, [&](auto f) { map<T, T, T>(s, detail::Slope<decltype(f)>{f}, dx, dy, x); });
  });
}

}  // namespace tandem::kernels
