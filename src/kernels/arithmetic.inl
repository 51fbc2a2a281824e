// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums, products, powers and the like, for both backends: `map` is that of the stream.
#pragma once

#include <cmath>

#include "kernels/arithmetic.hpp"
#include "kernels/copy.inl"

namespace tandem::kernels {

struct Add {
  template <class T>
  TANDEM_HD T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct Sub {
  template <class T>
  TANDEM_HD T operator()(T a, T b) const {
    return static_cast<T>(a - b);
  }
};
struct Mul {
  template <class T>
  TANDEM_HD T operator()(T a, T b) const {
    return static_cast<T>(a * b);
  }
};
struct Div {
  template <class T>
  TANDEM_HD T operator()(T a, T b) const {
    return a / b;
  }
};
struct Power {
  template <class T>
  TANDEM_HD T operator()(T a, T b) const {
    return std::pow(a, b);
  }
};
// A NaN on either side wins.
struct Maximum {
  template <class T>
  TANDEM_HD T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct Minimum {
  template <class T>
  TANDEM_HD T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};
template <class T>
struct ScaledAdd {
  T alpha;
  TANDEM_HD T operator()(T a, T b) const { return static_cast<T>(a + alpha * b); }
};
template <class T>
struct Pow {
  T exponent;
  TANDEM_HD T operator()(T x) const { return std::pow(x, exponent); }
};

namespace detail {

/// `op` with a number as its second operand.
template <class Op, class T>
struct WithNumber {
  Op op;
  T number;
  TANDEM_HD T operator()(T a) const { return op(a, number); }
};

/// Calls f(functor) with that of `op`.
template <class T, class F>
void with_binary(Binary op, F f) {
  switch (op) {
    case Binary::add:
      return f(Add{});
    case Binary::sub:
      return f(Sub{});
    case Binary::mul:
      return f(Mul{});
    case Binary::maximum:
      return f(Maximum{});
    case Binary::minimum:
      return f(Minimum{});
    case Binary::div:
      break;
  }
  if constexpr (is_float_v<T>) f(Div{});
}

}  // namespace detail

template <class S>
void binary(const S& s, Binary op, const View& a, const View& b, const View& y) {
  with_dtype(y.dtype, [&]<class T>() {
    detail::with_binary<T>(op, [&](auto f) { map<T, T, T>(s, f, y, a, b); });
  });
}

template <class S>
void binary(const S& s, Binary op, const View& a, double b, const View& y) {
  with_dtype(y.dtype, [&]<class T>() {
    detail::with_binary<T>(op, [&](auto f) {
      using Number = compute_t<T>;
      map<T, T>(s, detail::WithNumber<decltype(f), Number>{f, Convert<Number>{}(b)}, y, a);
    });
  });
}

template <class S>
void power(const S& s, double exponent, const View& x, const View& y) {
  with_any_float(x.dtype, [&]<class T>() {
    using Number = compute_t<T>;
    map<T, T>(s, Pow<Number>{static_cast<Number>(exponent)}, y, x);
  });
}

template <class S>
void power(const S& s, const View& x, const View& exponent, const View& y) {
  with_any_float(y.dtype, [&]<class T>() { map<T, T, T>(s, Power{}, y, x, exponent); });
}

template <class S>
void scaled_add(const S& s, const View& a, const View& b, double alpha, const View& y) {
  with_dtype(y.dtype, [&]<class T>() {
    using Number = compute_t<T>;
    map<T, T, T>(s, ScaledAdd<Number>{Convert<Number>{}(alpha)}, y, a, b);
  });
}

}  // namespace tandem::kernels
