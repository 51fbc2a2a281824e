// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// Shares of reduced gradients that have come to a device, and are not yet where they belong.
///
/// To be used on the device's thread.
class IncomingShares {
 public:
  /// Where the share of a block comes to. @throws OutOfMemory
  ///
  /// @param like   the share that it is for.
  /// @param dtype  of the reduction.
  Tensor place(int block, const Tensor& like, DType dtype, Device device);
  /// What has come of a block, and belongs to the caller now; undefined: nothing.
  Tensor take(int block);
  void clear() noexcept { by_block_.clear(); }

 private:
  std::vector<Tensor> by_block_;
};

}  // namespace tandem::parallel
