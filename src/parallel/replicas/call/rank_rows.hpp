// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tandem/autograd/row_group.hpp"
#include "tandem/comm/communicator.hpp"
#include "tandem/parallel/detail/no_sync.hpp"

#include "parallel/replicas/call/forward_rows.hpp"

namespace tandem::parallel {

/// The rows of the ranks as one batch: how many each has, and the group of those that have some.
///
/// To be used on the rank's thread. Its functions are collective: every rank calls them, in the
/// same order.
class RankRows {
 public:
  /// @param comm  must outlive this object, and the tapes of the forwards.
  explicit RankRows(comm::Communicator& comm);

  /// Tells the other ranks how many rows this one has, and whether it reduces its gradients.
  ///
  /// @param rows      -1: this rank has joined.
  /// @param order     see GatherOrder::digest; 0: there is none.
  /// @param forwards  how many this rank's generator has counted.
  ForwardRows exchange(std::int64_t rows,
                       GradientSync sync,
                       std::int64_t order = 0,
                       std::uint64_t forwards = 0) const;
  /// Makes the group anew if other ranks are active than before.
  void regroup(const ForwardRows& forward);
  /// The active ranks, as the replicas of a batch; null if this rank has joined. Tapes keep it.
  const std::shared_ptr<RowGroup>& group() const noexcept { return group_; }

 private:
  comm::Communicator& comm_;
  std::shared_ptr<RowGroup> group_;
  std::vector<bool> members_;  // by rank: of group_
};

}  // namespace tandem::parallel
