// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "autograd/leaf.hpp"

#include <algorithm>

#include "tandem/core/check.hpp"
#include "tandem/tensor/factories.hpp"

#include "autograd/outside_tensors.hpp"

namespace tandem {
namespace autograd {
namespace {

void complete_gradient(const Meta& meta) {
  if (const auto source = meta.source.lock()) source->complete();
}

}  // namespace

Meta* meta_of(const TensorImpl& impl) noexcept {
  return static_cast<Meta*>(impl.autograd.get());
}

Meta& make_meta(TensorImpl& impl) {
  if (impl.autograd == nullptr) impl.autograd = std::make_unique<Meta>();
  return *meta_of(impl);
}

Edge edge_of(const Tensor& x) {
  const Meta* meta = meta_of(x.impl());
  if (meta == nullptr || !meta->requires_grad) return {};
  if (meta->grad_fn == nullptr) return {nullptr, 0, x.shared()};
  return {meta->grad_fn, meta->output, nullptr};
}

void accumulate(const std::shared_ptr<TensorImpl>& leaf, Tensor gradient, bool create_graph) {
  Meta& meta = make_meta(*leaf);
  gradient = hooked(meta, std::move(gradient));
  complete_gradient(meta);
  const Tensor x(leaf);
  if (create_graph) {
    Tensor total = meta.grad.defined() ? meta.grad.add(gradient) : gradient;
    if (meta.bound.defined()) meta.bound.copy_(total.detach());
    meta.grad = std::move(total);
  } else if (meta.grad.defined()) {
    const NoGrad off;
    meta.grad.add_(gradient);
  } else if (meta.bound.defined()) {
    const NoGrad off;
    meta.bound.copy_(gradient);
    meta.grad = meta.bound;
  } else {
    const bool own = gradient.shared().use_count() == 1 &&
                     gradient.impl().buffer.use_count() == 1 && same_layout(gradient, x);
    if (own) {
      meta.grad = std::move(gradient);
    } else {
      const NoGrad off;
      Tensor copy = empty_like(x);
      copy.copy_(gradient);
      meta.grad = std::move(copy);
    }
    meta.grad.buffer().recategorise(Category::gradient);
  }
  if (meta.on_part) meta.on_part(x);
  if (meta.on_accumulate && !meta.holds_hooks) meta.on_accumulate(x);
}

Tensor hooked(const Meta& meta, Tensor gradient) {
  if (meta.holds_hooks) return gradient;
  const auto hooks = meta.hooks;  // a hook may remove itself
  for (const auto& [id, hook] : hooks) {
    if (Tensor changed = hook(gradient); changed.defined()) gradient = std::move(changed);
  }
  return gradient;
}

void set_gradient_source(const Tensor& leaf, std::weak_ptr<GradientSource> source) {
  TANDEM_CHECK(leaf.is_leaf(), "set_gradient_source: the tensor is not a leaf");
  make_meta(leaf.impl()).source = std::move(source);
}

Tensor stored_gradient(const Tensor& leaf) noexcept {
  const Meta* meta = meta_of(leaf.impl());
  return meta == nullptr ? Tensor{} : meta->grad;
}

void bind_gradient(const Tensor& leaf, const Tensor& storage) {
  TANDEM_CHECK(leaf.is_leaf(), "bind_gradient: the tensor is not a leaf");
  TANDEM_CHECK(
      !storage.defined() || (storage.shape() == leaf.shape() && storage.dtype() == leaf.dtype() &&
                             storage.device() == leaf.device()),
      "bind_gradient: the storage is ",
      storage.describe(),
      ", the tensor ",
      leaf.describe());
  Meta& meta = make_meta(leaf.impl());
  if (meta.grad.defined() && storage.defined()) {
    const NoGrad off;
    Tensor(storage).copy_(meta.grad.detach());
    meta.grad = storage;
  } else if (meta.grad.defined() && meta.bound.defined()) {
    meta.grad = meta.grad.clone();
  }
  meta.bound = storage;
}

}  // namespace autograd

bool Tensor::requires_grad() const noexcept {
  if (impl_ == nullptr) return false;
  const autograd::Meta* meta = autograd::meta_of(*impl_);
  return meta != nullptr && meta->requires_grad;
}

Tensor& Tensor::requires_grad_(bool on) {
  TANDEM_CHECK(is_leaf(), "requires_grad_: only a leaf's can be changed; use detach() first");
  TANDEM_CHECK(!on || is_float(dtype()),
               "requires_grad_: only float tensors have gradients, this is ",
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
               ", the tensor ",
               describe());
  autograd::Meta& meta = autograd::make_meta(impl());
  if (grad.defined()) autograd::complete_gradient(meta);
  if (!grad.defined() || !meta.bound.defined()) {
    meta.grad = grad;
    return;
  }
  if (grad.data() != meta.bound.data()) {
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
