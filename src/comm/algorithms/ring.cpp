// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Ring: each rank sends to the next. In N-1 steps every share goes round and is reduced on the way;
// in N-1 more the results go round.
//
//   0 -> 1 -> 2 -> 3 -> 0     N = 4. Step 0: rank 1 sends share 0 to rank 2, ...
//                             Step 2: rank 3 sends the sum of three to rank 0, which completes it.
//
// all_reduce of S among N: 2 (N-1) steps; 2 (N-1)/N S sent by each rank;
// 2 (N-1) α + 2 (N-1)/N S β. The fewest bytes, and each rank talks to two others only: for large
// messages.
// broadcast, reduce: along the chain 0, 1, ... N-1; N-1 steps of S; (N-1) (α + S β).
//
// Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", JPDC 69(2), 2009.

#include "comm/algorithms/list.hpp"
#include "comm/algorithms/phases.hpp"

namespace tandem::comm {
namespace {

using Kind = Collective::Kind;
constexpr Kind kKinds[] = {Kind::all_reduce, Kind::broadcast, Kind::reduce};

Schedule make(const Problem& p) {
  Schedule schedule;
  const std::vector<int> ring = ranks_from(0, p.ranks);
  const Share whole{0, p.count};
  if (p.kind == Kind::broadcast) {
    chain_copy(schedule, 0, ring, whole, 1);
  } else if (p.kind == Kind::reduce) {
    chain_reduce(schedule, 0, ring, whole, 1);
  } else {
    ring_all_gather(schedule, ring_reduce_scatter(schedule, 0, ring, whole), ring, whole);
  }
  return schedule;
}

Cost price(const Problem& p) {
  const double n = p.ranks, s = static_cast<double>(p.count);
  if (p.kind != Kind::all_reduce) return chain_cost(p.ranks, s, 1);
  return {2 * (p.ranks - 1), 2 * (n - 1) / n * s, 2 * (n - 1) / n * s};
}

}  // namespace

const Algorithm& ring() noexcept {
  static constexpr Algorithm own({"ring", kKinds, refuse_none, make, price});
  return own;
}

}  // namespace tandem::comm
