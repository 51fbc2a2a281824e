// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Functors of the activations and of their gradients, for both backends: `map` is that of the
// stream.
#pragma once

#include <cmath>

#include "kernels/activation.hpp"
#include "kernels/exp.inl"
#include "kernels/gelu.inl"

namespace tandem::kernels {

// Gradients: of the output dy, and the output y.
struct ReluGrad {
  template <class T>
  TANDEM_HD T operator()(T dy, T y) const {
    return y > T(0) ? dy : T(0);
  }
};
struct TanhGrad {
  template <class T>
  TANDEM_HD T operator()(T dy, T y) const {
    return dy * (T(1) - y * y);
  }
};
struct SigmoidGrad {
  template <class T>
  TANDEM_HD T operator()(T dy, T y) const {
    return dy * y * (T(1) - y);
  }
};

namespace detail {

// A NaN fails every comparison and stays one.
template <class T>
TANDEM_HD T sigmoid_of(T x) {
  return T(1) / (T(1) + bounded_exp(-x));
}

template <class T>
struct Silu {
  TANDEM_HD T operator()(T x) const { return x * sigmoid_of(x); }
  TANDEM_HD T slope(T x) const {
    const T s = sigmoid_of(x);
    return s * (T(1) + x * (T(1) - s));
  }
};
template <class T>
struct LeakyRelu {
  T negative;
  TANDEM_HD T operator()(T x) const { return x > T(0) ? x : negative * x; }
  TANDEM_HD T slope(T x) const { return x > T(0) ? T(1) : negative; }
};
template <class T>
struct Elu {
  T alpha;
  TANDEM_HD T operator()(T x) const { return x > T(0) ? x : alpha * std::expm1(x); }
  TANDEM_HD T slope(T x) const { return x > T(0) ? T(1) : alpha * std::exp(x); }
};
template <class T>
struct Softplus {
  T beta, threshold;
  TANDEM_HD T operator()(T x) const {
    return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta;
  }
  TANDEM_HD T slope(T x) const { return x * beta > threshold ? T(1) : sigmoid_of(x * beta); }
};
template <class T>
struct LogSigmoid {
  TANDEM_HD T operator()(T x) const {
    return (x < T(0) ? x : T(0)) - std::log1p(std::exp(-std::abs(x)));
  }
  TANDEM_HD T slope(T x) const { return sigmoid_of(-x); }
};
template <class T>
struct Clamp {
  T least, most;
  TANDEM_HD T operator()(T x) const {
    const T low = x < least ? least : x;
    return low > most ? most : low;
  }
  TANDEM_HD T slope(T x) const { return x > least && x < most ? T(1) : T(0); }
};
template <class T>
struct SmoothL1 {
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
template <class F>
struct Slope {
  F f;
  template <class T>
  TANDEM_HD T operator()(T dy, T x) const {
    return dy * f.slope(x);
  }
};

/// Calls f(functor) with that of `op`.
template <class T, class F>
void with_activation(Activation op, double a, double b, F f) {
  const T p = static_cast<T>(a), q = static_cast<T>(b);
  switch (op) {
    case Activation::silu:
      return f(Silu<T>{});
    case Activation::leaky_relu:
      return f(LeakyRelu<T>{p});
    case Activation::elu:
      return f(Elu<T>{p});
    case Activation::softplus:
      return f(Softplus<T>{p, q});
    case Activation::logsigmoid:
      return f(LogSigmoid<T>{});
    case Activation::clamp:
      return f(Clamp<T>{p, q});
    case Activation::smooth_l1:
      return f(SmoothL1<T>{p, q});
  }
}

}  // namespace detail

template <class S>
void activation(const S& s, Activation op, double a, double b, const View& x, const View& y) {
  with_any_float(y.dtype, [&]<class T>() {
    detail::with_activation<compute_t<T>>(op, a, b, [&](auto f) { map<T, T>(s, f, y, x); });
  });
}

template <class S>
void activation_grad(
    const S& s, Activation op, double a, double b, const View& dy, const View& x, const View& dx) {
  with_any_float(dx.dtype, [&]<class T>() {
    detail::with_activation<compute_t<T>>(
        op, a, b, [&](auto f) { map<T, T, T>(s, detail::Slope<decltype(f)>{f}, dx, dy, x); });
  });
}

template <class S>
void activation_grad(
    const S& s, ActivationGrad op, const View& dy, const View& kept, const View& dx) {
  with_any_float(dx.dtype, [&]<class T>() {
    switch (op) {
      case ActivationGrad::relu:
        return map<T, T, T>(s, ReluGrad{}, dx, dy, kept);
      case ActivationGrad::tanh:
        return map<T, T, T>(s, TanhGrad{}, dx, dy, kept);
      case ActivationGrad::sigmoid:
        return map<T, T, T>(s, SigmoidGrad{}, dx, dy, kept);
      case ActivationGrad::gelu:
        return map<T, T, T>(s, GeluGrad{}, dx, dy, kept);
      case ActivationGrad::gelu_tanh:
        return map<T, T, T>(s, GeluTanhGrad{}, dx, dy, kept);
    }
  });
}

}  // namespace tandem::kernels
