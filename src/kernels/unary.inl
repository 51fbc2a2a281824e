// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of one operand, for both backends: `map` is that of the stream.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/erf.inl"
#include "kernels/exp.inl"
#include "kernels/gelu.inl"
#include "kernels/unary.hpp"

namespace tandem::kernels {

/// False for what has no sign, without a comparison that compilers warn of.
template <class T>
TANDEM_HD bool is_negative(T x) {
  if constexpr (std::is_unsigned_v<T>)
    return false;
  else
    return x < T(0);
}

struct Neg {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return static_cast<T>(-x);
  }
};
struct Abs {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::abs(x);
    else
      return is_negative(x) ? static_cast<T>(-x) : x;
  }
};
struct Square {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return static_cast<T>(x * x);
  }
};
struct Sign {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return static_cast<T>((x > T(0)) - is_negative(x));
  }
};
// A NaN stays one.
struct Relu {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return is_negative(x) ? T(0) : x;
  }
};
struct Exp {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return std::exp(x);
  }
};
struct Log {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return std::log(x);
  }
};
struct Sqrt {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return std::sqrt(x);
  }
};
struct Rsqrt {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return T(1) / std::sqrt(x);
  }
};
struct Reciprocal {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return T(1) / x;
  }
};
struct Sin {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return std::sin(x);
  }
};
struct Cos {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return std::cos(x);
  }
};
struct Erf {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return fast_erf(x);
  }
};
struct Tanh {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return fast_tanh(x);
  }
};
struct Sigmoid {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return T(1) / (T(1) + bounded_exp(-x));
  }
};

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

}  // namespace tandem::kernels
