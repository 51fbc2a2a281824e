// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "autograd/leaf.hpp"

#include <utility>

#include "tandem/tensor/factories.hpp"

namespace tandem::autograd {
namespace {

bool is_same_storage(const Tensor& a, const Tensor& b) {
  return &a.buffer() == &b.buffer() && a.impl().offset == b.impl().offset && same_layout(a, b);
}

}  // namespace

void complete_gradient(const Meta& meta) {
  if (const auto source = meta.source.lock()) source->complete();
}

bool takes_whole_gradient(const TensorImpl& leaf, Device device) {
  const Meta& meta = *meta_of(leaf);
  if (!meta.bound.defined() || meta.bound.device() != device) return false;
  if (!meta.hooks.empty() && !meta.holds_hooks) return false;
  complete_gradient(meta);
  return !meta.grad.defined();
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
    if (!is_same_storage(gradient, meta.bound)) {  // else it was made there
      const NoGrad off;
      meta.bound.copy_(gradient);
    }
    meta.grad = meta.bound;
  } else {
    const bool own = gradient.shared().use_count() == 1 &&
                     gradient.impl().buffer.use_count() == 1 &&
                     !gradient.buffer().lending().is_adopted() && same_layout(gradient, x);
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

}  // namespace tandem::autograd
