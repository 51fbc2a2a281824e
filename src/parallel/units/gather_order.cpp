// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/units/gather_order.hpp"

#include <algorithm>
#include <utility>

namespace tandem::parallel {

void GatherOrder::begin(Pass pass) {
  if (!present_.empty()) last_[static_cast<std::size_t>(pass_)] = std::exchange(present_, {});
  pass_ = pass;
  is_as_last_ = true;
}

std::vector<int> GatherOrder::note(int block, std::size_t count) {
  const std::vector<int>& last = last_[static_cast<std::size_t>(pass_)];
  const std::size_t at = present_.size();
  present_.push_back(block);
  is_as_last_ = is_as_last_ && at < last.size() && last[at] == block;
  if (!is_as_last_) return {};
  const std::size_t end = std::min(last.size(), at + 1 + count);
  return {last.begin() + static_cast<std::ptrdiff_t>(at + 1),
          last.begin() + static_cast<std::ptrdiff_t>(end)};
}

std::int64_t GatherOrder::digest() const noexcept {
  constexpr std::uint64_t kPrime = 1099511628211U;
  std::uint64_t digest = 0;
  for (const std::vector<int>& pass : last_) {
    for (const int block : pass)
      digest = (digest ^ static_cast<std::uint64_t>(block + 1)) * kPrime;
    digest = (digest ^ UINT32_MAX) * kPrime;
  }
  return static_cast<std::int64_t>(digest);
}

void GatherOrder::clear() {
  last_ = {};
  present_.clear();
}

}  // namespace tandem::parallel
