// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/sampler.hpp"

#include <numeric>
#include <random>
#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::data {
namespace {

std::vector<std::int64_t> counted(std::int64_t size) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return order;
}

/// Uniform in [0, n): values of the last, incomplete turn of n are drawn again.
std::uint64_t below(std::mt19937_64& engine, std::uint64_t n) {
  const std::uint64_t left_over = (UINT64_MAX % n + 1) % n;
  std::uint64_t value = engine();
  while (value > UINT64_MAX - left_over)
    value = engine();
  return value % n;
}

}  // namespace

Sampler sequential_sampler(std::int64_t size) {
  TANDEM_CHECK(size >= 0, "sequential_sampler: ", size, " samples");
  return [size](std::int64_t) { return counted(size); };
}

Sampler random_sampler(std::int64_t size, std::uint64_t seed) {
  TANDEM_CHECK(size >= 0, "random_sampler: ", size, " samples");
  return [size, seed](std::int64_t epoch) {
    // The engine and seed_seq are fixed by the standard to the bit; std::shuffle is not, hence
    // Fisher and Yates.
    const auto turn = static_cast<std::uint64_t>(epoch);
    std::seed_seq words{static_cast<std::uint32_t>(seed),
                        static_cast<std::uint32_t>(seed >> 32),
                        static_cast<std::uint32_t>(turn),
                        static_cast<std::uint32_t>(turn >> 32)};
    std::mt19937_64 engine(words);
    std::vector<std::int64_t> order = counted(size);
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[below(engine, i)]);
    return order;
  };
}

}  // namespace tandem::data
