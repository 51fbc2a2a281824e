// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/divisor.hpp"

#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tandem::kernels {
namespace {

/// Numbers at which roundings differ: near powers of two, near multiples of `d`, and any others.
std::vector<std::int64_t> numerators(std::int64_t d, std::mt19937_64& random) {
  std::vector<std::int64_t> all;
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t power = std::int64_t{1} << bit;
    for (const std::int64_t base : {power, power / d * d})
      for (const std::int64_t off : {-1, 0, 1})
        if (base + off >= 0) all.push_back(base + off);
    all.push_back(static_cast<std::int64_t>(random() >> (63 - bit)) & INT64_MAX);
  }
  all.push_back(INT64_MAX);
  return all;
}

TEST(DivisorTest, DividesAsTheMachineDoes) {
  std::mt19937_64 random(7);
  std::vector<std::int64_t> divisors{1, 2, 3, 5, 7, 10, 641, 65535, 65536, 65537};
  for (int bit = 20; bit < 62; ++bit) {
    const std::int64_t power = std::int64_t{1} << bit;
    divisors.insert(divisors.end(), {power - 1, power, power + 1});
    divisors.push_back(power +
                       static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(power)));
  }
  for (const std::int64_t d : divisors) {
    const Divisor divisor(d);
    EXPECT_EQ(divisor.value(), d);
    for (const std::int64_t n : numerators(d, random)) {
      const auto [quotient, remainder] = divisor.split(n);
      ASSERT_EQ(quotient, n / d) << n << " / " << d;
      ASSERT_EQ(remainder, n % d) << n << " % " << d;
      if (n > INT32_MAX || d > INT32_MAX) continue;
      ASSERT_EQ(divisor.quotient(static_cast<std::uint32_t>(n)), n / d) << n << " / " << d;
    }
  }
}

TEST(DivisorTest, NothingIsDividedByZeroElements) {
  EXPECT_EQ(Divisor(0).value(), 1);
  EXPECT_EQ(Divisor().split(5).quotient, 5);
}

}  // namespace
}  // namespace tandem::kernels
