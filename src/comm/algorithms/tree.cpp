// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/algorithms/tree.hpp"

#include <algorithm>
#include <bit>

namespace tandem::comm {
namespace {

unsigned lowest_bit(int v) noexcept {
  return static_cast<unsigned>(v) & (~static_cast<unsigned>(v) + 1);
}

/// The parent of node v of 1 ... n: the nearest above in whose half v lies; 0 for the root.
int parent_node(int v, int n) noexcept {
  while (v != static_cast<int>(std::bit_floor(static_cast<unsigned>(n)))) {
    const unsigned bit = lowest_bit(v);
    const unsigned up = (static_cast<unsigned>(v) & ~bit) | (bit << 1);
    if (static_cast<int>(up) <= n) return static_cast<int>(up);
    v = static_cast<int>(up);  // not there: its parent takes its place
  }
  return 0;
}

}  // namespace

Tree in_order_tree(int ranks) {
  Tree tree;
  for (int v = 1; v <= ranks; ++v)
    tree.parent.push_back(parent_node(v, ranks) - 1);
  for (int r = 0; r < ranks; ++r) {
    int depth = 0;
    for (int up = r; tree.parent[static_cast<std::size_t>(up)] >= 0; ++depth)
      up = tree.parent[static_cast<std::size_t>(up)];
    tree.depth.push_back(depth);
    tree.height = std::max(tree.height, depth);
  }
  return tree;
}

Tree renumbered(const Tree& tree, Ranks rank_of) {
  Tree result = tree;
  for (std::size_t r = 0; r < tree.parent.size(); ++r) {
    const auto to = static_cast<std::size_t>(rank_of[r]);
    const int up = tree.parent[r];
    result.parent[to] = up < 0 ? -1 : rank_of[static_cast<std::size_t>(up)];
    result.depth[to] = tree.depth[r];
  }
  return result;
}

Tree rooted_at_zero(const Tree& tree) {
  const int ranks = static_cast<int>(tree.parent.size());
  const auto root = std::find(tree.parent.begin(), tree.parent.end(), -1) - tree.parent.begin();
  std::vector<int> rank_of;
  for (int r = 0; r < ranks; ++r)
    rank_of.push_back((r - static_cast<int>(root) + ranks) % ranks);
  return renumbered(tree, rank_of);
}

std::int64_t tree_reduce(
    Schedule& schedule, std::int64_t first, const Tree& tree, Share range, std::int64_t segments) {
  const int k = static_cast<int>(segments);
  for (int s = 0; s < k; ++s) {
    for (std::size_t r = 0; r < tree.parent.size(); ++r) {
      if (tree.parent[r] < 0) continue;
      add(schedule,
          first + s + tree.height - tree.depth[r],
          Transfer::Kind::reduce,
          static_cast<int>(r),
          tree.parent[r],
          even_share(range, s, k));
    }
  }
  return first + tree.height - 1 + segments;
}

std::int64_t tree_copy(
    Schedule& schedule, std::int64_t first, const Tree& tree, Share range, std::int64_t segments) {
  const int k = static_cast<int>(segments);
  for (int s = 0; s < k; ++s) {
    for (std::size_t r = 0; r < tree.parent.size(); ++r) {
      if (tree.parent[r] < 0) continue;
      add(schedule,
          first + s + tree.depth[r] - 1,
          Transfer::Kind::copy,
          tree.parent[r],
          static_cast<int>(r),
          even_share(range, s, k));
    }
  }
  return first + tree.height - 1 + segments;
}

TreeSteps tree_steps(int ranks, std::int64_t segments) noexcept {
  const auto n = static_cast<unsigned>(ranks);
  const std::int64_t height = std::bit_width(n) - 1;
  const std::int64_t steps = height - 1 + segments;
  if (ranks == 2) return {steps, static_cast<double>(steps)};
  // The root of 2^h nodes has one child, and is alone in the last step up, or the first down.
  return {steps, static_cast<double>(2 * steps - (std::has_single_bit(n) ? 1 : 0))};
}

}  // namespace tandem::comm
