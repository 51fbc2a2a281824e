// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tandem::cli {
namespace {

constexpr std::size_t kLongest = 40;  // bytes of what can be meant at all

/// Letters to insert, leave out, change or swap with their neighbours to make one of the other (the
/// distance of Damerau and Levenshtein, no letter edited twice).
std::size_t letters_apart(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before, last,
      row(b.size() + 1);  // of two letters, one letter fewer of a
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = last[j] + (a[i] == b[j] ? 0 : 1);
      row[j + 1] = std::min({changed, row[j] + 1, last[j + 1] + 1});
      const bool swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> nearest(const std::string& given, const std::vector<std::string>& names) {
  if (given.empty() || given.size() > kLongest) return {};
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& name : names) {
    const std::size_t apart = name.starts_with(given) ? 1 : letters_apart(given, name);
    const std::size_t most = std::max<std::size_t>(2, name.size() / 3);
    if (apart <= most && apart < name.size()) found.emplace_back(apart, name);
  }
  std::ranges::stable_sort(found, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> best;
  for (const auto& [apart, name] : found)
    if (apart == found.front().first) best.push_back(name);
  return best;
}

}  // namespace tandem::cli
