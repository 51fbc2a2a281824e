// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/node.hpp"

namespace tandem::autograd {

// Note [Tapes of replicas]: a replica's tape holds what is recorded on its thread, and begins with
// its own leaves: its parameters, its part of the batch, leaves that its forward makes. A tensor
// from elsewhere may need another device's thread for its gradient, and that thread is busy with
// its own replica. So the tape ends at a leaf that stands for it, one in each replica; whoever
// runs the replicas adds up what these get, and passes it on when the replicas have ended.

/// The tensors from outside of a replica that its tapes end at. Used by the replica's thread.
class OutsideTensors {
 public:
  struct Entry {
    Tensor outside;  ///< as the replica found it, on its own tape or a leaf
    Tensor leaf;     ///< that stands for it
  };

  /// @param realm  the replica's own, see mark_realm.
  explicit OutsideTensors(std::uint64_t realm) noexcept : realm_(realm) {}

  std::uint64_t realm() const noexcept { return realm_; }
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  /// The leaf that stands for `x`, made at its first use.
  const Tensor& leaf_for(const Tensor& x);

 private:
  std::uint64_t realm_;
  std::vector<Entry> entries_;
};

/// The calling thread's realm: 0 outside of replicas.
std::uint64_t current_realm() noexcept;
/// Makes `leaf` one of a replica's own.
void mark_realm(const Tensor& leaf, std::uint64_t realm);
/// As edge_of, but a replica's edges to the outside go to the leaves that stand for it.
Edge edge_here(const Tensor& x);

}  // namespace tandem::autograd
