// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/gradient_source.hpp"

#include <utility>

#include "tandem/core/check.hpp"

#include "autograd/node.hpp"

namespace tandem::autograd {

void set_gradient_source(const Tensor& leaf, std::weak_ptr<GradientSource> source) {
  TANDEM_CHECK(leaf.is_leaf(), "set_gradient_source: the tensor is not a leaf");
  make_meta(leaf.impl()).source = std::move(source);
}

Tensor stored_gradient(const Tensor& leaf) noexcept {
  const Meta* meta = meta_of(leaf.impl());
  return meta == nullptr ? Tensor{} : meta->grad;
}

}  // namespace tandem::autograd
