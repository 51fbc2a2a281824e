// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tandem/tensor/tensor.hpp"

namespace tandem::autograd {

/// Holds the parts of leaves' gradients that are not stored with the leaves but on other devices.
class GradientSource {
 public:
  virtual ~GradientSource() = default;
  /// Brings all parts to the leaves' own storage. Does nothing if they are there already.
  ///
  /// Called on the thread that reads or changes a grad().
  virtual void complete() = 0;
};

/// From now on the gradient of `leaf` is completed before grad() reads it, set_grad replaces it, or
/// backward accumulates into it. Clearing it by set_grad does not complete it.
///
/// @param source  null or expired: the whole gradient is stored with the leaf.
void set_gradient_source(const Tensor& leaf, std::weak_ptr<GradientSource> source);

/// The gradient as it is stored with the leaf, without completing it.
Tensor stored_gradient(const Tensor& leaf) noexcept;

}  // namespace tandem::autograd
