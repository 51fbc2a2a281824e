// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tandem/runtime/context.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// A part of a batch that one device computes on its own, in the bitwise mode.
struct Leaf {
  int device = 0;  ///< index of the device
  RowRange rows;
};

/// Cuts a batch into `count` leaves (at most one per row). Leaves are runs of rows whose sizes
/// differ by at most one, and they are the same for any number of devices. A leaf goes to the
/// device that has its middle row.
///
/// @param plan  each device's rows, in order and without gaps.
std::vector<Leaf> cut_leaves(const std::vector<RowRange>& plan, std::int64_t count);
/// Each device's rows if every leaf stays whole.
std::vector<RowRange> rows_of(const std::vector<Leaf>& leaves, std::size_t devices);

/// Adds up the tensors of leaves in one binary tree that does not depend on which devices have the
/// leaves.
///
/// A node of the tree is the sum of a power of two of leaves; if the right half is missing, it is
/// the left half alone. Each device adds up the nodes whose leaves it has, and one device joins the
/// rest.
class LeafSums {
 public:
  /// Adds a leaf, which follows those added so far. @param tensors  not shared; they are changed.
  void add(std::size_t leaf, std::vector<Tensor> tensors);
  /// Appends copies, on `device`, of another device's nodes. A node already on `device` is shared.
  void append_copy(const LeafSums& other, Device device);
  /// The sum of all leaves; empty if there are none. Changes the nodes.
  std::vector<Tensor> total();
  void clear() noexcept { nodes_.clear(); }
  bool empty() const noexcept { return nodes_.empty(); }

 private:
  struct Node {
    std::size_t first = 0;
    std::size_t size = 0;  // leaves, counted as if none were missing
    std::vector<Tensor> tensors;
  };
  static void add_to(Node& left, const Node& right);

  std::vector<Node> nodes_;  // ordered by first
};

}  // namespace tandem::parallel
