// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// Where a device's shares of reduced gradients go: they stay in its arena (ArenaShares), or leave
/// it (SleepingBlocks).
class GradientShares {
 public:
  virtual ~GradientShares() = default;
  /// Whether the gradients leave the arena. Then each bucket waits for the one before.
  virtual bool leave_the_arena() const noexcept { return true; }
  /// This device's share of a bucket in a block, flat.
  ///
  /// @param in_arena  the place of that share in the arena.
  virtual Tensor gradient_share(int block, const Tensor& in_arena) const = 0;
  /// What is sent of a block's gradients, in the type of the reduction.
  virtual Tensor outgoing(const Tensor& whole) const { return whole; }
  /// The device has its share, and needs the rest of the block's gradients no more.
  virtual void end_reduction(int block) = 0;
  /// All blocks have been reduced.
  virtual void end_backward() = 0;
};

}  // namespace tandem::parallel
