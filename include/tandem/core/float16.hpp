// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace tandem {

/// bfloat16: the upper half of an IEEE 754 binary32, with 8 bits of exponent and 7 of fraction.
///
/// This type is for storage. It converts exactly to float, in which arithmetic is done. Conversion
/// from float rounds to nearest, ties to even; a NaN stays a NaN.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  constexpr explicit BFloat16(float x) : bits(rounded(std::bit_cast<std::uint32_t>(x))) {}
  constexpr operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  static constexpr BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 x;
    x.bits = bits;
    return x;
  }

 private:
  static constexpr std::uint16_t rounded(std::uint32_t x) {
    const std::uint32_t upper = x >> 16;
    const std::uint32_t nearest = (x + 0x7fffU + (upper & 1U)) >> 16;
    const bool nan = (x & 0x7fffffffU) > 0x7f800000U;
    return static_cast<std::uint16_t>(nan ? upper | 0x40U : nearest);
  }
};

/// IEEE 754 binary16, with 5 bits of exponent and 10 of fraction; the largest number is 65504.
///
/// This type is for storage, like BFloat16. Conversion from float rounds to nearest, ties to even.
/// Numbers from 65520 on, half a step above 65504, become infinite.
struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  constexpr explicit Half(float x) : bits(rounded(std::bit_cast<std::uint32_t>(x))) {}
  constexpr operator float() const { return widened(bits); }
  static constexpr Half from_bits(std::uint16_t bits) {
    Half x;
    x.bits = bits;
    return x;
  }

 private:
  // The difference of the exponent biases, 127 in float and 15 here, in float's exponent field.
  static constexpr std::uint32_t kShift = 112U << 23;

  static constexpr std::uint16_t rounded(std::uint32_t x) {
    const std::uint32_t sign = x >> 16 & 0x8000U, size = x & 0x7fffffffU;
    std::uint32_t y = 0;
    if (size > 0x7f800000U) {
      y = 0x7e00U;  // a NaN
    } else if (size >= 0x47800000U) {
      y = 0x7c00U;  // from 65536 on
    } else if (size < 0x38800000U) {
      // Below the smallest normal number: the addition rounds to a multiple of 2^-24.
      y = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - 0x3f000000U;
    } else {
      y = (size - kShift + 0xfffU + (size >> 13 & 1U)) >> 13;
    }
    return static_cast<std::uint16_t>(sign | y);
  }

  static constexpr float widened(std::uint16_t x) {
    const std::uint32_t sign = (x & 0x8000U) << 16, size = (x & 0x7fffU) << 13;
    // Read as a float, the number is too small by a factor of 2^112; subnormal numbers are too.
    const auto y = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) * 0x1p112F);
    const bool finite = size < 0x0f800000U;
    return std::bit_cast<float>(sign | (finite ? y : size | 0x7f800000U));
  }
};

}  // namespace tandem
