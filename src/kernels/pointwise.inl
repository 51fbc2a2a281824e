// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Functors of the elementwise families, for both backends.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/erf.inl"
#include "kernels/exp.inl"
#include "kernels/for_each.hpp"

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
struct Where {
  template <class T>
  TANDEM_HD T operator()(std::uint8_t condition, T a, T b) const {
    return condition != 0 ? a : b;
  }
};

struct Equal {
  template <class T>
  TANDEM_HD bool operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  TANDEM_HD bool operator()(T a, T b) const {
    return a != b;
  }
};
struct Less {
  template <class T>
  TANDEM_HD bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  TANDEM_HD bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct IsFinite {
  template <class T>
  TANDEM_HD bool operator()(T x) const {
    return x - x == T(0);
  }
};

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
template <class T>
struct Pow {
  T exponent;
  TANDEM_HD T operator()(T x) const { return std::pow(x, exponent); }
};

inline constexpr double kInvSqrt2 = 0.70710678118654752440;
inline constexpr double kInvSqrt2Pi = 0.39894228040143267794;
inline constexpr double kSqrt2OverPi = 0.79788456080286535588;
inline constexpr double kGeluCubic = 0.044715;  // Hendrycks and Gimpel, arXiv:1606.08415

struct Gelu {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return T(0.5) * x * (T(1) + fast_erf(x * T(kInvSqrt2)));
  }
};
/// exp(-2u), where gelu's share of x is (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u)), u = sqrt(2 / pi) (x
/// + 0.044715 x^3).
template <class T>
TANDEM_HD T gelu_tanh_power(T x) {
  return bounded_exp(T(-2 * kSqrt2OverPi) * (x + T(kGeluCubic) * x * x * x));
}
struct GeluTanh {
  template <class T>
  TANDEM_HD T operator()(T x) const {
    return x / (T(1) + gelu_tanh_power(x));
  }
};

// Gradients: of the output dy, and the output y or the input x that the op kept.
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
struct GeluGrad {
  template <class T>
  TANDEM_HD T operator()(T dy, T x) const {
    const T cdf = T(0.5) * (T(1) + fast_erf(x * T(kInvSqrt2)));
    return dy * (cdf + x * T(kInvSqrt2Pi) * bounded_exp(T(-0.5) * x * x));
  }
};
struct GeluTanhGrad {
  template <class T>
  TANDEM_HD T operator()(T dy, T x) const {
    const T power = gelu_tanh_power(x), share = T(1) / (T(1) + power);
    const T slope = T(2 * kSqrt2OverPi) * (T(1) + T(3 * kGeluCubic) * x * x);
    return dy * (share + x * (power * share * share) * slope);
  }
};

}  // namespace tandem::kernels
