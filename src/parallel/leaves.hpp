// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tandem/runtime/context.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// A part of a batch that one device works on alone, in the bitwise mode.
struct Leaf {
  int device = 0;  ///< rank
  RowRange rows;
};

/// Cuts a batch into `count` leaves (fewer where it has fewer rows): runs of rows whose sizes
/// differ by at most one, the same for any number of devices. A leaf goes to the device that has
/// its middle row.
///
/// @param plan  rows of each device, one after the other.
std::vector<Leaf> cut_leaves(const std::vector<RowRange>& plan, std::int64_t count);
/// Rows of each device, where leaves are not cut.
std::vector<RowRange> rows_of(const std::vector<Leaf>& leaves, std::size_t devices);

/// Sums of leaves' tensors in one binary tree, whichever devices the leaves are on.
///
/// A node of the tree is the sum of a power of two of leaves; where the right half is missing, of
/// the left alone. Each device adds up the whole nodes that it has, and one of them joins what is
/// left.
class LeafSums {
 public:
  /// Adds a leaf, which comes after those that are there. @param tensors  own, and changed.
  void add(std::size_t leaf, std::vector<Tensor> tensors);
  /// Takes over copies of another device's nodes on `device`; the device itself keeps its own.
  void append_copy(const LeafSums& other, Device device);
  /// The sum of all; changes the nodes. Empty: there are none.
  std::vector<Tensor> total();
  void clear() noexcept { nodes_.clear(); }
  bool empty() const noexcept { return nodes_.empty(); }

 private:
  struct Node {
    std::size_t first = 0;
    std::size_t size = 0;  // leaves, as if none were missing
    std::vector<Tensor> tensors;
  };
  static void add_to(Node& left, const Node& right);

  std::vector<Node> nodes_;  // by first
};

}  // namespace tandem::parallel
