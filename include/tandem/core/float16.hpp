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
  // Both conversions choose between numbers and not between ways to go, so that compilers take
  // vectors for them.
  static constexpr std::uint16_t rounded(std::uint32_t x) {
    constexpr std::int32_t kInfinity = 0x7f800000, kSmallestNormal = 0x38800000;
    const auto size = static_cast<std::int32_t>(x & 0x7fffffffU);
    // What is too large, or a NaN, becomes infinite, and all else is a quarter of what it was.
    const std::int32_t number = size & (size > kInfinity ? kInfinity : 0x7fffffff);
    const float quarter = std::bit_cast<float>(number) * 0x1p112F * 0x1p-110F;
    // Adding a power of two rounds to the fraction that a Half with this exponent has.
    const std::int32_t exponent = number & kInfinity;
    const auto least =
        static_cast<std::uint32_t>(exponent < kSmallestNormal ? kSmallestNormal : exponent);
    const float power = std::bit_cast<float>(least + 0x07800000U);
    const auto y = std::bit_cast<std::uint32_t>(power + quarter);
    const std::uint32_t nan = size > kInfinity ? 0x200U : 0U;
    return static_cast<std::uint16_t>((x >> 16 & 0x8000U) | ((y >> 13 & 0x7c00U) + (y & 0xfffU)) |
                                      nan);
  }

  static constexpr float widened(std::uint16_t x) {
    const std::uint32_t sign = (x & 0x8000U) << 16, size = (x & 0x7fffU) << 13;
    // Read as a float, the number is too small by a factor of 2^112; subnormal numbers are too.
    const auto y = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) * 0x1p112F);
    const auto exponent = static_cast<std::int32_t>(size) < 0x0f800000 ? 0U : 0x7f800000U;
    return std::bit_cast<float>(sign | y | exponent);  // all ones: an infinity, or a NaN
  }
};

}  // namespace tandem
