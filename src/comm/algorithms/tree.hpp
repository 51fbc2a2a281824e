// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Binary trees over ranks, numbered in order, and pipelines along them.
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/comm/algorithms.hpp"

#include "comm/algorithms/phases.hpp"

namespace tandem::comm {

/// The binary tree over the nodes 1, 2, ... n in order. Odd nodes are leaves, the root is the
/// largest power of two, and a node differs from its parent in the lowest bits. Unless the tree is
/// renumbered, node v is rank v - 1.
///
///         4
///       2   6
///      1 3 5 7
struct Tree {
  std::vector<int> parent;  ///< by rank; -1: the root
  std::vector<int> depth;   ///< by rank
  int height = 0;           ///< depth of the deepest rank
};
Tree in_order_tree(int ranks);

/// The same tree with every rank changed: rank r of `tree` becomes `rank_of[r]`.
Tree renumbered(const Tree& tree, Ranks rank_of);
/// Renumbers the tree so that rank 0 is the root.
Tree rooted_at_zero(const Tree& tree);

/// From the leaves to the root, one segment per step and level: height - 1 + segments steps.
std::int64_t tree_reduce(
    Schedule& schedule, std::int64_t first, const Tree& tree, Share range, std::int64_t segments);
/// From the root to the leaves, in the same number of steps.
std::int64_t tree_copy(
    Schedule& schedule, std::int64_t first, const Tree& tree, Share range, std::int64_t segments);

/// The steps of tree_reduce or tree_copy, and their `path` in segments. A step moves two segments
/// if some node has two children that are active in it.
struct TreeSteps {
  std::int64_t steps;
  double segments;
};
TreeSteps tree_steps(int ranks, std::int64_t segments) noexcept;

}  // namespace tandem::comm
