// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/node.hpp"

namespace tandem::autograd {

// Note [Tapes of replicas]: a replica's tape holds what is recorded on its thread. It begins with
// the replica's own leaves: its parameters, its part of the batch, and leaves that its forward
// makes. The gradient of a tensor from elsewhere may need another device's thread, which is busy
// with its own replica. So the tape ends at a leaf that stands for that tensor, one in each
// replica. The code that runs the replicas adds up the gradients of these leaves, and passes the
// sum on when the replicas have ended.

/// The tensors from outside of a replica at which its tapes end. Used on the replica's thread.
class OutsideTensors {
 public:
  struct Entry {
    Tensor outside;  ///< as the replica found it: a leaf, or on a tape of its own
    Tensor leaf;     ///< stands for it on the replica's tape
  };

  /// @param realm  the replica's own; see mark_realm.
  explicit OutsideTensors(std::uint64_t realm) noexcept : realm_(realm) {}

  std::uint64_t realm() const noexcept { return realm_; }
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  /// The leaf that stands for `x`. Made when `x` is first used.
  const Tensor& leaf_for(const Tensor& x);

 private:
  std::uint64_t realm_;
  std::vector<Entry> entries_;
};

/// The calling thread's realm: 0 outside of replicas.
std::uint64_t current_realm() noexcept;
/// Marks `leaf` as one of a replica's own.
void mark_realm(const Tensor& leaf, std::uint64_t realm);
/// Like edge_of, but a replica's edges to outside tensors go to the leaves that stand for them.
Edge edge_here(const Tensor& x);

}  // namespace tandem::autograd
