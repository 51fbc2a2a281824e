// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// GELU's functors and those of its gradient, for both backends.
#pragma once

#include "kernels/erf.inl"
#include "kernels/exp.inl"
#include "kernels/for_each.hpp"

namespace tandem::kernels {

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

// Gradients: of the output dy and the input x.
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
