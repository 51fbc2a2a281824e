// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/plan/micro_batches.hpp"

#include <algorithm>
#include <utility>

#include "tandem/parallel/chunks.hpp"

#include "core/even_share.hpp"

namespace tandem::parallel {

std::vector<std::vector<RowRange>> cut_micro_batches(const std::vector<RowRange>& plan,
                                                     const std::vector<Device>& devices,
                                                     std::int64_t count) {
  std::vector<std::int64_t> left;  // by device: rows that are not in a micro-batch yet
  std::int64_t rows = 0;
  for (const RowRange range : plan) {
    left.push_back(range.size());
    rows += left.back();
  }
  count = std::min(count, rows);
  std::vector<std::vector<RowRange>> parts;
  std::int64_t begin = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const auto chunks = ChunkPolicy::sizes(left).plan(even_share(rows, k, count).size(), devices);
    std::vector<RowRange>& part = parts.emplace_back();
    for (std::size_t d = 0; d < chunks.size(); ++d) {
      part.push_back({begin, begin + chunks[d]});
      begin += chunks[d];
      left[d] -= chunks[d];
    }
  }
  return parts;
}

}  // namespace tandem::parallel
