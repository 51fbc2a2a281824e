// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace tandem {

/// [begin, end).
struct Share {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  constexpr std::int64_t size() const noexcept { return end - begin; }
};

/// The r-th of `shares` even shares of `count` things: sizes differ by one at most, larger ones
/// first.
constexpr Share even_share(std::int64_t count, std::int64_t r, std::int64_t shares) noexcept {
  const std::int64_t each = count / shares, rest = count % shares;
  const std::int64_t begin = r * each + std::min(r, rest);
  return {begin, begin + each + (r < rest ? 1 : 0)};
}

/// The r-th of `shares` even shares of `whole`.
constexpr Share even_share(Share whole, std::int64_t r, std::int64_t shares) noexcept {
  const Share own = even_share(whole.size(), r, shares);
  return {whole.begin + own.begin, whole.begin + own.end};
}

}  // namespace tandem
