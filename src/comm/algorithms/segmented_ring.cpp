// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Segmented ring: as the ring, but each share is reduced in segments that go round one after the
// other, so that what a rank receives to be reduced stays in its cache, and needs no more memory
// than a segment. The results go round in whole shares.
//
// all_reduce of S among N, k segments a share: (k+1) (N-1) steps; 2 (N-1)/N S sent by each rank;
// (k+1) (N-1) α + 2 (N-1)/N S β. For messages so large that the shares leave the caches.
// broadcast, reduce: a pipeline of k segments along the chain 0, 1, ... N-1; N-2+k steps of S/k;
// (N-2+k) (α + S/k β): the time of one link, for large S.
//
// Source: Open MPI, coll_base_allreduce.c, ompi_coll_base_allreduce_intra_ring_segmented;
// Pjesivac-Grbovic et al., "Performance analysis of MPI collective operations", Cluster Computing
// 10(2), 2007, for the pipelined chain.

#include "comm/algorithms/list.hpp"
#include "comm/algorithms/phases.hpp"

namespace tandem::comm {
namespace {

using Kind = Collective::Kind;
constexpr Kind kKinds[] = {Kind::all_reduce, Kind::broadcast, Kind::reduce};

std::int64_t segments(const Problem& p) noexcept {
  const bool parts = p.kind == Kind::all_reduce;
  return segments_of(parts ? segments_of(p.count, p.ranks) : p.count, p.segment);
}

Schedule make(const Problem& p) {
  Schedule schedule;
  const std::vector<int> ring = ranks_from(0, p.ranks);
  const Share whole{0, p.count};
  const std::int64_t k = segments(p);
  if (p.kind == Kind::broadcast) {
    chain_copy(schedule, 0, ring, whole, k);
  } else if (p.kind == Kind::reduce) {
    chain_reduce(schedule, 0, ring, whole, k);
  } else {
    std::int64_t step = 0;
    for (int i = 0; i < k; ++i)
      step = ring_reduce_scatter(schedule, step, ring, whole, i, static_cast<int>(k));
    ring_all_gather(schedule, step, ring, whole);
  }
  return schedule;
}

Cost price(const Problem& p) {
  const double n = p.ranks, s = static_cast<double>(p.count);
  const std::int64_t k = segments(p);
  if (p.kind != Kind::all_reduce) return chain_cost(p.ranks, s, k);
  return {(k + 1) * (p.ranks - 1), 2 * (n - 1) / n * s, 2 * (n - 1) / n * s};
}

}  // namespace

const Algorithm& segmented_ring() noexcept {
  static constexpr Algorithm own({"segmented_ring", kKinds, refuse_none, make, price});
  return own;
}

}  // namespace tandem::comm
