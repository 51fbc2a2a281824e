// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// An exponential that the compiler makes vectors of, for both backends.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/for_each.hpp"

namespace tandem::kernels {

/// e^x, for sums of exponentials; never infinite.
///
/// f32: zero below -87, from 87 on what it is there, within two units of the last place. @source
/// Moshier, Cephes, expf.
TANDEM_HD inline float bounded_exp(float x) {
  constexpr float kMaxPower = 87.0F;
  constexpr float kRounding = 12582912.0F;  // 1.5 * 2^23: adding it leaves an integer
  const float low = x < -kMaxPower ? -kMaxPower : x;
  const float c = low > kMaxPower ? kMaxPower : low;
  const float n = (c * 1.44269504088896341F + kRounding) - kRounding;
  const float r = (c - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const float y = (p * r * r + r) + 1.0F;
  const float power = std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
  return x < -kMaxPower ? 0.0F : y * power;
}
TANDEM_HD inline double bounded_exp(double x) {
  constexpr double kMaxPower = 700;
  return std::exp(x > kMaxPower ? kMaxPower : x);
}

}  // namespace tandem::kernels
