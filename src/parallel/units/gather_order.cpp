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

}  // namespace tandem::parallel
