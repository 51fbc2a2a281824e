// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Reduce and broadcast: rank 0 gets the whole of every rank, reduces, and sends the result to each.
//
// all_reduce of S among N: 2 steps; (N-1) S sent by rank 0; 2 α + 2 (N-1) S β. What a parameter
// server does: rank 0's port is the bottleneck, the others wait.
// broadcast, reduce: one of the two steps; α + (N-1) S β.
//
// Source: Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory,
// practice, and experience", CCPE 19(13), 2007: all-reduce as reduce and broadcast, by their
// simplest forms.

#include <algorithm>

#include "comm/algorithms/list.hpp"
#include "comm/algorithms/phases.hpp"

namespace tandem::comm {
namespace {

using Kind = Collective::Kind;
constexpr Kind kKinds[] = {Kind::all_reduce, Kind::broadcast, Kind::reduce};

Schedule make(const Problem& p) {
  Schedule schedule;
  std::int64_t step = 0;
  if (p.kind != Kind::broadcast) {
    for (int r = 1; r < p.ranks; ++r)
      add(schedule, step, Transfer::Kind::reduce, r, 0, {0, p.count});
    ++step;
  }
  if (p.kind != Kind::reduce) {
    for (int r = 1; r < p.ranks; ++r)
      add(schedule, step, Transfer::Kind::copy, 0, r, {0, p.count});
  }
  return schedule;
}

Cost price(const Problem& p) {
  const double s = static_cast<double>(p.count), all = (p.ranks - 1) * s;
  if (p.kind == Kind::all_reduce) return {2, all, 2 * all};
  return {1, p.kind == Kind::reduce ? s : all, all};
}

}  // namespace

const Algorithm& reduce_broadcast() noexcept {
  static constexpr Algorithm own({"reduce_broadcast", kKinds, refuse_none, make, price});
  return own;
}

}  // namespace tandem::comm
