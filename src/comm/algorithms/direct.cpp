// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Direct: each rank gets its share of all others at once, reduces, and sends the result to all.
//
// all_reduce of S among N: 2 steps; 2 (N-1)/N S sent by each rank; 2 α + 2 (N-1)/N S β. The least
// of both that there is, where every rank reaches every other at once: on one host. That backend
// adds up in rank order, in the widest type, and writes the result to all in the same pass; the
// schedule here is what goes over the links.
// broadcast, reduce: 1 step; the root sends, or receives, (N-1) S; α + (N-1) S β.
//
// Source: Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory,
// practice, and experience", CCPE 19(13), 2007: reduce-scatter and all-gather, on a full crossbar.

#include "comm/algorithms/list.hpp"
#include "comm/algorithms/phases.hpp"

namespace tandem::comm {
namespace {

using Kind = Collective::Kind;
using Move = Transfer::Kind;
constexpr Kind kKinds[] = {Kind::all_reduce, Kind::broadcast, Kind::reduce};

Schedule make(const Problem& p) {
  Schedule schedule;
  const Share whole{0, p.count};
  for (int r = 0; r < p.ranks; ++r) {
    for (int other = 0; other < p.ranks; ++other) {
      if (other == r) continue;
      if (p.kind == Kind::all_reduce) {
        const Share own = even_share(whole, r, p.ranks);
        add(schedule, 0, Move::reduce, other, r, own);
        add(schedule, 1, Move::copy, r, other, own);
      } else if (p.kind == Kind::reduce && r == 0) {
        add(schedule, 0, Move::reduce, other, r, whole);
      } else if (p.kind == Kind::broadcast && r == 0) {
        add(schedule, 0, Move::copy, r, other, whole);
      }
    }
  }
  return schedule;
}

Cost price(const Problem& p) {
  const double n = p.ranks, s = static_cast<double>(p.count);
  if (p.kind == Kind::all_reduce) return {2, 2 * (n - 1) / n * s, 2 * (n - 1) / n * s};
  return {1, p.kind == Kind::reduce ? s : (n - 1) * s, (n - 1) * s};
}

}  // namespace

const Algorithm& direct() noexcept {
  static constexpr Algorithm own({"direct", kKinds, refuse_none, make, price});
  return own;
}

}  // namespace tandem::comm
