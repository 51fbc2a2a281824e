// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Binary tree: segments go up a tree, each node adding what its two children bring, and the result
// goes down. In a pipeline: while a node sends one segment, its children send it the next.
//
//         3           N = 7
//       1   5
//      0 2 4 6
//
// all_reduce of S among N, height h = floor(log2 N), k segments: 2 (h-1+k) steps; a node with
// parent and children sends 3 S (N > 3); about 2 (h-1+k) (α + 2 S/k β), exactly S/k less each way
// where N is a power of two. Logarithmic in N, but a node's port takes two children's bytes.
// broadcast, reduce: one of the two ways, the root at the top.
//
// Source: Pjesivac-Grbovic et al., "Performance analysis of MPI collective operations", Cluster
// Computing 10(2), 2007; the numbering is that of NCCL, trees.cc.

#include "comm/algorithms/list.hpp"
#include "comm/algorithms/tree.hpp"

namespace tandem::comm {
namespace {

using Kind = Collective::Kind;
constexpr Kind kKinds[] = {Kind::all_reduce, Kind::broadcast, Kind::reduce};

Schedule make(const Problem& p) {
  Schedule schedule;
  const Tree in_order = in_order_tree(p.ranks);
  const Tree tree = p.kind == Kind::all_reduce ? in_order : rooted_at_zero(in_order);
  const Share whole{0, p.count};
  const std::int64_t k = segments_of(p.count, p.segment);
  std::int64_t step = 0;
  if (p.kind != Kind::broadcast) step = tree_reduce(schedule, step, tree, whole, k);
  if (p.kind != Kind::reduce) tree_copy(schedule, step, tree, whole, k);
  return schedule;
}

Cost price(const Problem& p) {
  const std::int64_t k = segments_of(p.count, p.segment);
  const double s = static_cast<double>(p.count);
  const TreeSteps way = tree_steps(p.ranks, k);
  const double path = way.segments * s / static_cast<double>(k);
  const int children = p.ranks == 2 ? 1 : 2;  // of the node that has most
  if (p.kind == Kind::reduce) return {way.steps, s, path};
  if (p.kind == Kind::broadcast) return {way.steps, children * s, path};
  return {2 * way.steps, (children + (p.ranks > 3 ? 1 : 0)) * s, 2 * path};
}

}  // namespace

const Algorithm& binary_tree() noexcept {
  static constexpr Algorithm own({"binary_tree", kKinds, refuse_none, make, price});
  return own;
}

}  // namespace tandem::comm
