// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/detail/outputs.hpp"

#include <numeric>

namespace tandem::parallel::detail {

std::vector<double> factors(Combine how, std::size_t parts, const std::vector<std::int64_t>& rows) {
  std::vector<double> result(parts, 1.0);
  if (how == Combine::mean) std::ranges::fill(result, 1.0 / static_cast<double>(parts));
  if (how != Combine::weighted_mean) return result;
  TANDEM_CHECK(rows.size() == parts,
               "gather: a weighted mean of ",
               parts,
               " parts needs the rows of each, but ",
               rows.size(),
               " were given");
  const auto total = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  TANDEM_CHECK(total > 0, "gather: a weighted mean needs parts that have rows");
  for (std::size_t i = 0; i < parts; ++i)
    result[i] = static_cast<double>(rows[i]) / static_cast<double>(total);
  return result;
}

void check_part(const OutputFacts& part,
                const OutputFacts& first,
                std::size_t i,
                const std::function<std::string()>& devices) {
  const auto check_count = [&](std::size_t given, std::size_t expected, const char* what) {
    TANDEM_CHECK(given == expected,
                 "gather: part ",
                 i,
                 " holds ",
                 given,
                 what,
                 ", but part 0 holds ",
                 expected,
                 devices(),
                 "; return the same number from every replica");
  };
  check_count(part.rules.size(), first.rules.size(), " tensors");
  check_count(part.numbers.size(), first.numbers.size(), " numbers to combine");
  check_count(part.constants.size(), first.constants.size(), " numbers and texts");
  for (std::size_t k = 0; k < part.constants.size(); ++k) {
    TANDEM_CHECK(
        part.constants[k] == first.constants[k],
        "gather: a number or text is '",
        part.constants[k],
        "' in part ",
        i,
        " and '",
        first.constants[k],
        "' in part 0; return the same value from every replica, or a tensor, or a number marked "
        "Combined<T, Combine::sum>");
  }
}

}  // namespace tandem::parallel::detail
