// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// Where a device's shares of reduced gradients go, if they are not to stay in its arena.
class GradientShares {
 public:
  virtual ~GradientShares() = default;
  /// This device's share of a block, flat.
  virtual Tensor gradient_share(int block) const = 0;
  /// What is sent of a block's gradients, in the type of the reduction.
  virtual Tensor outgoing(const Tensor& whole) const { return whole; }
  /// The device has its share, and needs the rest of the block's gradients no more.
  virtual void end_reduction(int block) = 0;
  /// All blocks have been reduced.
  virtual void end_backward() = 0;
};

}  // namespace tandem::parallel
