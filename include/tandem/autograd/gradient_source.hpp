// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tandem/tensor/tensor.hpp"

namespace tandem::autograd {

/// Where parts of leaves' gradients are that do not lie with the leaves: on other devices.
class GradientSource {
 public:
  virtual ~GradientSource() = default;
  /// Brings all parts to the leaves' own storage; does nothing where they are there.
  ///
  /// Called by the thread that reads or changes a grad().
  virtual void complete() = 0;
};

/// From now on grad() of `leaf`, its change by set_grad, and accumulation into it complete it
/// first.
///
/// @param source  null or expired: the gradient lies with the leaf.
void set_gradient_source(const Tensor& leaf, std::weak_ptr<GradientSource> source);

/// grad() as it lies with the leaf: complete only where its source has brought all parts.
Tensor stored_gradient(const Tensor& leaf) noexcept;

}  // namespace tandem::autograd
