// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace tandem::libtorch {

/// Which pairs of tensors of GPUs differ in their bytes: with one wait for each GPU, whatever the
/// number of pairs.
class GpuComparison {
 public:
  /// Queues the comparison on the GPU of `y`, to which `x` is copied if it is elsewhere.
  ///
  /// @param y  of x's shape and dtype.
  void add(const at::Tensor& x, const at::Tensor& y);
  /// One for each pair, in the order of the calls of `add`. Waits for the GPUs.
  std::vector<bool> differences() const;

 private:
  std::vector<at::Tensor> differ_;  // one bool each
};

}  // namespace tandem::libtorch
