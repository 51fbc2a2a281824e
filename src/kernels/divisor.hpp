// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/for_each.hpp"

namespace tandem::kernels {

/// A divisor that is known before a kernel starts. A GPU has no instruction for the division of
/// integers; one of 64 bits takes it about a hundred. With this it multiplies and shifts (Granlund
/// and Montgomery, "Division by Invariant Integers using Multiplication", 1994).
class Divisor {
 public:
  struct Split {
    std::int64_t quotient, remainder;
  };

  Divisor() = default;  // one
  /// @param value  at most 2^62. Zero, the size of what has no elements to count, is taken as one.
  explicit Divisor(std::int64_t value)
      : value_(std::max<std::int64_t>(1, value)),
        shift_(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value_) - 1))) {
    multiplier_ =
        static_cast<std::uint64_t>((Wide{1} << (63 + shift_)) / static_cast<Wide>(value_)) + 1;
  }

  TANDEM_HD std::int64_t value() const { return value_; }
  /// n / value, rounded down. @param n  not below 0. Numbers below 2^31 take three instructions.
  TANDEM_HD std::int64_t quotient(std::int64_t n) const {
    if (((n | value_) >> 31) == 0) return quotient(static_cast<std::uint32_t>(n));
    return static_cast<std::int64_t>(high_product(multiplier_, 2 * static_cast<std::uint64_t>(n)) >>
                                     shift_);
  }
  /// The same where it is known that `n` and the divisor are below 2^31.
  TANDEM_HD std::uint32_t quotient(std::uint32_t n) const {
    const auto multiplier = static_cast<std::uint32_t>(multiplier_ >> 32) + 1;
    return static_cast<std::uint32_t>((std::uint64_t{multiplier} * (2 * n)) >> 32) >> shift_;
  }
  /// n / value and n % value. @param n  not below 0.
  TANDEM_HD Split split(std::int64_t n) const {
    const std::int64_t q = quotient(n);
    return {q, n - q * value_};
  }

 private:
  __extension__ typedef unsigned __int128 Wide;

  TANDEM_HD static std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>(static_cast<Wide>(a) * b >> 64);
  }

  std::int64_t value_ = 1;
  int shift_ = 0;
  std::uint64_t multiplier_ = (std::uint64_t{1} << 63) + 1;
};

}  // namespace tandem::kernels
