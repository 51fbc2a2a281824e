// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "autograd/leaf_hooks.hpp"

#include <algorithm>
#include <utility>

#include "tandem/core/check.hpp"

#include "autograd/leaf.hpp"

namespace tandem::autograd {

void set_part_hook(const Tensor& leaf, AccumulateHook hook) {
  TANDEM_ASSERT(leaf.is_leaf(), "set_part_hook: the tensor is not a leaf");
  if (hook == nullptr && meta_of(leaf.impl()) == nullptr) return;
  make_meta(leaf.impl()).on_part = std::move(hook);
}

bool has_hooks(const Tensor& leaf) noexcept {
  const Meta* meta = meta_of(leaf.impl());
  return meta != nullptr && (!meta->hooks.empty() || meta->on_accumulate != nullptr);
}

void hold_hooks(const Tensor& leaf, Hooks hooks) noexcept {
  if (Meta* meta = meta_of(leaf.impl())) meta->holds_hooks = hooks == Hooks::wait;
}

void run_gradient_hooks(const Tensor& leaf) {
  Meta& meta = make_meta(leaf.impl());
  const bool held = std::exchange(meta.holds_hooks, false);
  const Tensor changed = hooked(meta, meta.grad);
  meta.holds_hooks = held;
  if (changed.shared() != meta.grad.shared()) {
    TANDEM_CHECK(changed.shape() == leaf.shape() && changed.dtype() == leaf.dtype() &&
                     changed.device() == leaf.device(),
                 "a gradient hook returned ",
                 changed.describe(),
                 " for the gradient of ",
                 leaf.describe(),
                 "; return the same shape, dtype and device");
    const NoGrad off;
    meta.grad.copy_(changed.detach());
  }
}

void run_accumulate_hook(const Tensor& leaf) {
  const Meta& meta = make_meta(leaf.impl());
  if (meta.on_accumulate) meta.on_accumulate(leaf);
}

}  // namespace tandem::autograd
