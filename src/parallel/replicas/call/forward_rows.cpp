// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/forward_rows.hpp"

#include <algorithm>

namespace tandem::parallel {

std::int64_t ForwardRows::all_rows() const {
  std::int64_t sum = 0;
  for (const std::int64_t n : rows)
    sum += std::max<std::int64_t>(n, 0);
  return sum;
}

RowRange ForwardRows::range_of(int rank) const {
  std::int64_t begin = 0;
  for (int r = 0; r < rank; ++r)
    begin += std::max<std::int64_t>(rows[static_cast<std::size_t>(r)], 0);
  return {begin, begin + rows[static_cast<std::size_t>(rank)]};
}

int ForwardRows::active() const {
  return static_cast<int>(std::ranges::count_if(rows, [](std::int64_t n) { return n >= 0; }));
}

int ForwardRows::first_active() const {
  for (int r = 0; r < static_cast<int>(rows.size()); ++r)
    if (is_active(r)) return r;
  return -1;
}

}  // namespace tandem::parallel
