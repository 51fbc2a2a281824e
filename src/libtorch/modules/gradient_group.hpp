// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "tandem/tensor/tensor.hpp"

namespace tandem::libtorch {

/// Small gradients of a replica on one of PyTorch's GPUs, which wait for each other: one launch
/// copies all of them to their places. A large one does not wait, and what is before it goes first,
/// so that buckets of large gradients are reduced as early as without a group.
class GradientGroup {
 public:
  /// Takes the whole gradient of a parameter if it may wait. The group is passed on when it is
  /// full.
  ///
  /// @return  false: it is large, has no place of its own, or is not laid out as it.
  bool take(const Tensor& parameter, const at::Tensor& gradient);
  /// Copies the gradients to their places, and tells of each in the order in which they came.
  ///
  /// @throws  what the reduction throws, which a gradient may start.
  void pass_on();
  void clear() noexcept { members_.clear(); }

 private:
  struct Member {
    Tensor parameter, place;
    at::Tensor gradient;
  };
  void copy(const std::vector<Member>& members) const;

  std::vector<Member> members_;  // whose places are in one buffer
};

}  // namespace tandem::libtorch
