// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/tensor/tensor.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"

#include "autograd/leaf.hpp"
#include "autograd/outside_tensors.hpp"

namespace tandem {

bool Tensor::requires_grad() const noexcept {
  if (impl_ == nullptr) return false;
  const autograd::Meta* meta = autograd::meta_of(*impl_);
  return meta != nullptr && meta->requires_grad;
}

Tensor& Tensor::requires_grad_(bool on) {
  TANDEM_CHECK(is_leaf(), "requires_grad_: the tensor is not a leaf; use detach() first");
  TANDEM_CHECK(!on || is_float(dtype()),
               "requires_grad_: only float tensors have gradients, but this is ",
               describe());
  if (!on && impl().autograd == nullptr) return *this;
  autograd::Meta& meta = autograd::make_meta(impl());
  if (on && !meta.requires_grad && meta.realm == 0) meta.realm = autograd::current_realm();
  meta.requires_grad = on;
  return *this;
}

bool Tensor::is_leaf() const noexcept {
  if (impl_ == nullptr) return false;
  const autograd::Meta* meta = autograd::meta_of(*impl_);
  return meta == nullptr || meta->grad_fn == nullptr;
}

Tensor Tensor::grad() const {
  const autograd::Meta* meta = autograd::meta_of(impl());
  if (meta == nullptr) return {};
  autograd::complete_gradient(*meta);
  return meta->grad;
}

void Tensor::set_grad(const Tensor& grad) const {
  if (!grad.defined() && impl().autograd == nullptr) return;
  TANDEM_CHECK(!grad.defined() || (grad.shape() == shape() && grad.dtype() == dtype() &&
                                   grad.device() == device()),
               "set_grad: the gradient is ",
               grad.describe(),
               ", but the tensor is ",
               describe());
  autograd::Meta& meta = autograd::make_meta(impl());
  if (grad.defined()) autograd::complete_gradient(meta);
  if (!grad.defined() || !meta.bound.defined()) {
    meta.grad = grad;
    return;
  }
  if (&grad.buffer() != &meta.bound.buffer() || grad.impl().offset != meta.bound.impl().offset) {
    const autograd::NoGrad off;
    meta.bound.copy_(grad.detach());
  }
  meta.grad = meta.bound;
}

Tensor Tensor::detach() const {
  return as_strided(*this, shape(), strides(), impl().offset);
}

void Tensor::backward(const Tensor& gradient) const {
  autograd::backward({*this}, {gradient});
}

}  // namespace tandem
