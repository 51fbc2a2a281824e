// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/sampler.hpp"

#include <numeric>
#include <random>
#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::datasets {
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

void check_rank(const char* who, int ranks, int rank) {
  TANDEM_CHECK(ranks >= 1, who, ": ranks is ", ranks, "; it must be at least 1");
  TANDEM_CHECK(rank >= 0 && rank < ranks,
               who,
               ": rank ",
               rank,
               " is not one of the ",
               ranks,
               " ranks; expected 0 to ",
               ranks - 1);
}

}  // namespace

Sampler sequential_sampler(std::int64_t size) {
  TANDEM_CHECK(size >= 0, "sequential_sampler: size is ", size, "; it may not be negative");
  return [size](std::int64_t) { return counted(size); };
}

Sampler random_sampler(std::int64_t size, std::uint64_t seed) {
  TANDEM_CHECK(size >= 0, "random_sampler: size is ", size, "; it may not be negative");
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

Sampler distributed_sampler(Sampler whole, int ranks, int rank, Uneven uneven) {
  check_rank("distributed_sampler", ranks, rank);
  return [whole = std::move(whole), ranks, rank, uneven](std::int64_t epoch) {
    const std::vector<std::int64_t> all = whole(epoch);
    const auto n = static_cast<std::size_t>(ranks);
    const std::size_t each = uneven == Uneven::drop ? all.size() / n : (all.size() + n - 1) / n;
    std::vector<std::int64_t> own;
    own.reserve(each);
    for (std::size_t k = 0; k < each; ++k)
      own.push_back(all[(k * n + static_cast<std::size_t>(rank)) % all.size()]);
    return own;
  };
}

std::int64_t unrepeated_count(std::int64_t size, int ranks, int rank) {
  check_rank("unrepeated_count", ranks, rank);
  TANDEM_CHECK(size >= 0, "unrepeated_count: size is ", size, "; it may not be negative");
  return (size + ranks - 1 - rank) / ranks;
}

}  // namespace tandem::datasets
