// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace tandem::libtorch {

/// Takes the little memory of a GPU that comparisons need and keep.
void prepare_comparisons(int gpu);

/// Which pairs of tensors of GPUs differ in their bytes. Pairs that lie side by side, as in two
/// arenas of the same layout, are compared together; only where there is a difference is it looked
/// for pair by pair.
class GpuComparison {
 public:
  /// @param x, y  of the same shape and dtype, dense.
  void add(const at::Tensor& x, const at::Tensor& y);
  /// One for each pair, in the order of the calls of `add`. What crosses a link is a five hundredth
  /// of the bytes (Note [Digests]). Waits for each two GPUs once, and once more where there is a
  /// difference.
  std::vector<bool> differences() const;

 private:
  struct Pair {
    at::Tensor x, y;
    std::size_t number;
  };
  std::vector<Pair> pairs_;
};

}  // namespace tandem::libtorch
