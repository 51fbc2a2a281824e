// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Hierarchical ring: rings in groups of g, a ring of the groups' first ranks, and chains that bring
// the result to the groups.
//
//   [0 1 2 3] [4 5 6 7]    1. all-reduce in each group, by a ring
//    0 ------- 4           2. all-reduce of the first ranks, by a ring
//   [0 1 2 3] [4 5 6 7]    3. broadcast in each group, by a pipeline of g segments
//
// all_reduce of S among N = g m: 4 (g-1) + 2 (m-1) steps; the first rank of a group sends
// (2 (g-1)/g + 2 (m-1)/m + 1) S; 4 (g-1) α + 2 (m-1) α + (4 (g-1)/g + 2 (m-1)/m) S β. For groups
// whose ranks are near each other, with one slow link between groups: few bytes cross it.
//
// Source: Jia et al., "Highly scalable deep learning training system with mixed-precision: training
// ImageNet in four minutes", arXiv:1807.11205, 2018, section 3.3.

#include "comm/algorithms/groups.hpp"
#include "comm/algorithms/list.hpp"
#include "comm/algorithms/phases.hpp"

namespace tandem::comm {
namespace {

constexpr Collective::Kind kKinds[] = {Collective::Kind::all_reduce};

std::string refuse(const Problem& p) {
  const std::string text = refuse_uneven_groups(p);
  return text.empty() ? "" : "hierarchical_ring " + text;
}

std::int64_t all_reduce(Schedule& schedule, std::int64_t step, Ranks ring, Share whole) {
  return ring_all_gather(schedule, ring_reduce_scatter(schedule, step, ring, whole), ring, whole);
}

Schedule make(const Problem& p) {
  Schedule schedule;
  const Share whole{0, p.count};
  const int g = group_of(p);
  std::int64_t after = 0;
  for (int first = 0; first < p.ranks; first += g)
    after = all_reduce(schedule, 0, ranks_from(first, g), whole);
  after = all_reduce(schedule, after, ranks_from(0, p.ranks / g, g), whole);
  for (int first = 0; first < p.ranks; first += g)
    chain_copy(schedule, after, ranks_from(first, g), whole, g);
  return schedule;
}

Cost price(const Problem& p) {
  const int group = group_of(p), groups = p.ranks / group;
  const double g = group, m = groups, s = static_cast<double>(p.count);
  const double within = 2 * (g - 1) / g * s, between = 2 * (m - 1) / m * s;
  return {4 * (group - 1) + 2 * (groups - 1), within + between + s, 2 * within + between};
}

}  // namespace

const Algorithm& hierarchical_ring() noexcept {
  static constexpr Algorithm own({"hierarchical_ring", kKinds, refuse, make, price});
  return own;
}

}  // namespace tandem::comm
