// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// 2D torus: ranks in rows of c. A reduce-scatter along the rows, an all-reduce of each share along
// the columns, an all-gather along the rows; all by rings.
//
//   0 1 2      1. rows: rank 0 gets share a of its row, 1 share b, 2 share c
//   3 4 5      2. columns: 0 and 3 add up their shares a, 1 and 4 b, 2 and 5 c
//              3. rows: each gives its share to the others
//
// all_reduce of S among N = c r: 2 (c-1) + 2 (r-1) steps; 2 (N-1)/N S sent by each rank;
// 2 (c+r-2) α + 2 (N-1)/N S β. The ring's bytes in about 4 sqrt(N) steps.
//
// Source: Mikami et al., "Massively distributed SGD: ImageNet/ResNet-50 training in a flash",
// arXiv:1811.05233, 2018, section 2.3.

#include "comm/algorithms/groups.hpp"
#include "comm/algorithms/list.hpp"
#include "comm/algorithms/phases.hpp"

namespace tandem::comm {
namespace {

constexpr Collective::Kind kKinds[] = {Collective::Kind::all_reduce};

std::string refuse(const Problem& p) {
  const std::string text = refuse_uneven_groups(p);
  return text.empty() ? "" : "torus_2d " + text;
}

Schedule make(const Problem& p) {
  Schedule schedule;
  const Share whole{0, p.count};
  const int columns = group_of(p), rows = p.ranks / columns;
  std::int64_t after = 0;
  for (int row = 0; row < rows; ++row)
    after = ring_reduce_scatter(schedule, 0, ranks_from(row * columns, columns), whole);
  std::int64_t last = after;
  for (int column = 0; column < columns; ++column) {
    const std::vector<int> ring = ranks_from(column, rows, columns);
    const Share own = even_share(whole, column, columns);
    last = ring_all_gather(schedule, ring_reduce_scatter(schedule, after, ring, own), ring, own);
  }
  for (int row = 0; row < rows; ++row)
    ring_all_gather(schedule, last, ranks_from(row * columns, columns), whole);
  return schedule;
}

Cost price(const Problem& p) {
  const int columns = group_of(p), rows = p.ranks / columns;
  const double n = p.ranks, moved = 2 * (n - 1) / n * static_cast<double>(p.count);
  return {2 * (columns - 1) + 2 * (rows - 1), moved, moved};
}

}  // namespace

const Algorithm& torus_2d() noexcept {
  static constexpr Algorithm own({"torus_2d", kKinds, refuse, make, price});
  return own;
}

}  // namespace tandem::comm
