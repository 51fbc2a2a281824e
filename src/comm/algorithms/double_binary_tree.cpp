// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Double binary tree: each half of the elements has a tree of its own, and who is an inner node of
// one is a leaf of the other, so that all ports are in use. The second tree is the first mirrored
// (N even) or moved on by one (N odd).
//
//         3           2              N = 6: ranks 1, 3, 5 are inner nodes of the first,
//       1   5       4   0                    ranks 0, 2, 4 of the second
//      0 2 4       5 3 1
//
// all_reduce of S among N, height h = floor(log2 N), k segments a half: 2 (h-1+k) steps; 2 S sent
// by an inner node (N > 3); about 2 (h-1+k) (α + S/k β), exactly S/2k less each way where N is a
// power of two. The tree's steps at the ring's bytes: for many ranks.
//
// Source: Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction
// and scan", Parallel Computing 35(12), 2009; without their colouring of the edges, which makes two
// steps of one in which a node hears from both children.

#include "comm/algorithms/list.hpp"
#include "comm/algorithms/tree.hpp"

namespace tandem::comm {
namespace {

constexpr Collective::Kind kKinds[] = {Collective::Kind::all_reduce};

std::int64_t segments(const Problem& p) noexcept {
  return segments_of((p.count + 1) / 2, p.segment);
}

std::vector<int> second_numbering(int ranks) {
  std::vector<int> rank_of;
  for (int r = 0; r < ranks; ++r)
    rank_of.push_back(ranks % 2 == 0 ? ranks - 1 - r : (r + 1) % ranks);
  return rank_of;
}

Schedule make(const Problem& p) {
  Schedule schedule;
  const Tree first = in_order_tree(p.ranks);
  const Tree second = renumbered(first, second_numbering(p.ranks));
  const Share whole{0, p.count};
  const std::int64_t k = segments(p);
  const std::int64_t step = tree_reduce(schedule, 0, first, even_share(whole, 0, 2), k);
  tree_reduce(schedule, 0, second, even_share(whole, 1, 2), k);
  tree_copy(schedule, step, first, even_share(whole, 0, 2), k);
  tree_copy(schedule, step, second, even_share(whole, 1, 2), k);
  return schedule;
}

Cost price(const Problem& p) {
  const std::int64_t k = segments(p);
  const double half = static_cast<double>(p.count) / 2;
  const TreeSteps way = tree_steps(p.ranks, k);
  const double sent = p.ranks == 2 ? 2 : (p.ranks == 3 ? 3 : 4);
  return {2 * way.steps, sent * half, 2 * way.segments * half / static_cast<double>(k)};
}

}  // namespace

const Algorithm& double_binary_tree() noexcept {
  static constexpr Algorithm own({"double_binary_tree", kKinds, refuse_none, make, price});
  return own;
}

}  // namespace tandem::comm
