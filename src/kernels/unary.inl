// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of one operand, for both backends: `map` is that of the stream.
#pragma once

#include "kernels/pointwise.hpp"
#include "kernels/pointwise.inl"

namespace tandem::kernels {
namespace detail {

// Numbers of any type. @return  whether `op` is one of them.
template <class T, class S>
bool any_unary(const S& s, Unary op, const View& x, const View& y) {
  switch (op) {
    case Unary::neg:
      map<T, T>(s, Neg{}, y, x);
      return true;
    case Unary::abs:
      map<T, T>(s, Abs{}, y, x);
      return true;
    case Unary::square:
      map<T, T>(s, Square{}, y, x);
      return true;
    case Unary::sign:
      map<T, T>(s, Sign{}, y, x);
      return true;
    case Unary::relu:
      map<T, T>(s, Relu{}, y, x);
      return true;
    default:
      return false;
  }
}

template <class T, class S>
void float_unary(const S& s, Unary op, const View& x, const View& y) {
  switch (op) {
    case Unary::exp:
      return map<T, T>(s, Exp{}, y, x);
    case Unary::log:
      return map<T, T>(s, Log{}, y, x);
    case Unary::sqrt:
      return map<T, T>(s, Sqrt{}, y, x);
    case Unary::rsqrt:
      return map<T, T>(s, Rsqrt{}, y, x);
    case Unary::reciprocal:
      return map<T, T>(s, Reciprocal{}, y, x);
    case Unary::sin:
      return map<T, T>(s, Sin{}, y, x);
    case Unary::cos:
      return map<T, T>(s, Cos{}, y, x);
    case Unary::erf:
      return map<T, T>(s, Erf{}, y, x);
    case Unary::tanh:
      return map<T, T>(s, Tanh{}, y, x);
    case Unary::sigmoid:
      return map<T, T>(s, Sigmoid{}, y, x);
    case Unary::gelu:
      return map<T, T>(s, Gelu{}, y, x);
    case Unary::gelu_tanh:
      return map<T, T>(s, GeluTanh{}, y, x);
    default:
      break;  // any_unary
  }
}

}  // namespace detail

template <class S>
void unary(const S& s, Unary op, const View& x, const View& y) {
  const bool done = with_dtype(x.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>)
      return detail::any_unary<std::uint8_t>(s, op, x, y);
    else
      return detail::any_unary<T>(s, op, x, y);
  });
  if (!done) with_any_float(x.dtype, [&]<class T>() { detail::float_unary<T>(s, op, x, y); });
}

template <class S>
void power(const S& s, double exponent, const View& x, const View& y) {
  with_any_float(x.dtype, [&]<class T>() {
    using Number = compute_t<T>;
    map<T, T>(s, Pow<Number>{static_cast<Number>(exponent)}, y, x);
  });
}

template <class S>
void is_finite(const S& s, const View& x, const View& y) {
  with_any_float(x.dtype, [&]<class T>() { map<bool, T>(s, IsFinite{}, y, x); });
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
