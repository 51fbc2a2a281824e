// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of two operands, for both backends: `map` is that of the stream.
#pragma once

#include "kernels/copy.inl"
#include "kernels/pointwise.hpp"
#include "kernels/pointwise.inl"

namespace tandem::kernels {
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

template <class S>
void where(const S& s, const View& condition, const View& a, const View& b, const View& y) {
  with_dtype(y.dtype,
             [&]<class T>() { map<T, std::uint8_t, T, T>(s, Where{}, y, condition, a, b); });
}

template <class S>
void compare(const S& s, Compare op, const View& a, const View& b, const View& y) {
  with_dtype(a.dtype, [&]<class T>() {
    switch (op) {
      case Compare::equal:
        return map<bool, T, T>(s, Equal{}, y, a, b);
      case Compare::not_equal:
        return map<bool, T, T>(s, NotEqual{}, y, a, b);
      case Compare::less:
        return map<bool, T, T>(s, Less{}, y, a, b);
      case Compare::less_equal:
        return map<bool, T, T>(s, LessEqual{}, y, a, b);
    }
  });
}

}  // namespace tandem::kernels
