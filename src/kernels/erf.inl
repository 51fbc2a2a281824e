// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The error function and the hyperbolic tangent, as quotients of polynomials that the compiler
// makes vectors of, for both backends. f32: within four units of the last place.
#pragma once

#include <cmath>

#include "kernels/for_each.hpp"

namespace tandem::kernels {
namespace detail {

/// p[0] + p[1] s + ..., from the last coefficient on.
template <int kTerms>
TANDEM_HD inline float polynomial(float s, const float (&p)[kTerms]) {
  float sum = p[kTerms - 1];
  for (int i = kTerms - 2; i >= 0; --i)
    sum = sum * s + p[i];
  return sum;
}

}  // namespace detail

/// @source Eigen, generic_fast_erf_float (MPL-2.0; the coefficients alone)
TANDEM_HD inline float fast_erf(float x) {
  const float low = x < -4.0F ? -4.0F : x;
  const float c = low > 4.0F ? 4.0F : low;  // there it is one
  const float p[] = {-1.60960333262415e-02F,
                     -2.95459980854025e-03F,
                     -7.34990630326855e-04F,
                     -5.69250639462346e-05F,
                     -2.10102402082508e-06F,
                     2.77068142495902e-08F,
                     -2.72614225801306e-10F};
  const float q[] = {-1.42647390514189e-02F,
                     -7.37332916720468e-03F,
                     -1.68282697438203e-03F,
                     -2.13374055278905e-04F,
                     -1.45660718464996e-05F};
  return c * detail::polynomial(c * c, p) / detail::polynomial(c * c, q);
}
TANDEM_HD inline double fast_erf(double x) {
  return std::erf(x);
}

/// @source Eigen, generic_fast_tanh_float (MPL-2.0; the coefficients alone)
TANDEM_HD inline float fast_tanh(float x) {
  constexpr float kSaturation = 7.9F;
  const float low = x < -kSaturation ? -kSaturation : x;
  const float c = low > kSaturation ? kSaturation : low;
  const float p[] = {4.89352455891786e-03F,
                     6.37261928875436e-04F,
                     1.48572235717979e-05F,
                     5.12229709037114e-08F,
                     -8.60467152213735e-11F,
                     2.00018790482477e-13F,
                     -2.76076847742355e-16F};
  const float q[] = {
      4.89352518554385e-03F, 2.26843463243900e-03F, 1.18534705686654e-04F, 1.19825839466702e-06F};
  const float y = c * detail::polynomial(c * c, p) / detail::polynomial(c * c, q);
  const float up = x > kSaturation ? 1.0F : y;
  return x < -kSaturation ? -1.0F : up;
}
TANDEM_HD inline double fast_tanh(double x) {
  return std::tanh(x);
}

}  // namespace tandem::kernels
