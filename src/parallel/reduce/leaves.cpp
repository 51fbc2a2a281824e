// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/leaves.hpp"

#include <algorithm>
#include <utility>

#include "core/even_share.hpp"

namespace tandem::parallel {

std::vector<Leaf> cut_leaves(const std::vector<RowRange>& plan, std::int64_t count) {
  const std::int64_t rows = plan.back().end;
  count = std::min(count, rows);
  std::vector<Leaf> leaves;
  for (std::int64_t k = 0; k < count; ++k) {
    const Share share = even_share(rows, k, count);
    const std::int64_t middle = share.begin + share.size() / 2;
    const auto owner = std::ranges::find_if(
        plan, [&](const RowRange& r) { return middle >= r.begin && middle < r.end; });
    leaves.push_back({static_cast<int>(owner - plan.begin()), {share.begin, share.end}});
  }
  return leaves;
}

std::vector<RowRange> rows_of(const std::vector<Leaf>& leaves, std::size_t devices) {
  std::vector<RowRange> rows;
  std::int64_t end = 0;
  for (std::size_t d = 0; d < devices; ++d) {
    rows.push_back({end, end});
    for (const Leaf& leaf : leaves)
      if (static_cast<std::size_t>(leaf.device) == d) end = rows.back().end = leaf.rows.end;
  }
  return rows;
}

void LeafSums::add_to(Node& left, const Node& right) {
  for (std::size_t i = 0; i < left.tensors.size(); ++i)
    left.tensors[i].add_(right.tensors[i]);
  left.size += right.size;
}

void LeafSums::add(std::size_t leaf, std::vector<Tensor> tensors) {
  nodes_.push_back({leaf, 1, std::move(tensors)});
  while (nodes_.size() >= 2) {
    Node& left = nodes_[nodes_.size() - 2];
    const Node& right = nodes_.back();
    const bool siblings = left.size == right.size && left.first + left.size == right.first &&
                          left.first % (2 * left.size) == 0;
    if (!siblings) return;
    add_to(left, right);
    nodes_.pop_back();
  }
}

void LeafSums::append_copy(const LeafSums& other, Device device) {
  for (const Node& node : other.nodes_) {
    Node copy{node.first, node.size, {}};
    for (const Tensor& x : node.tensors)
      copy.tensors.push_back(x.to(device));
    nodes_.push_back(std::move(copy));
  }
}

std::vector<Tensor> LeafSums::total() {
  // Level by level: a node without a right half stands for the whole.
  for (std::size_t size = 1; nodes_.size() > 1; size *= 2) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Node& left = nodes_[i];
      if (left.size != size || left.first % (2 * size) != 0) continue;
      const bool has_right = i + 1 < nodes_.size() && nodes_[i + 1].first == left.first + size;
      if (!has_right) {
        left.size *= 2;
        continue;
      }
      add_to(left, nodes_[i + 1]);
      nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }
  return nodes_.empty() ? std::vector<Tensor>{} : nodes_.front().tensors;
}

}  // namespace tandem::parallel
