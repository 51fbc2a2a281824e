// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/followed_hooks.hpp"

#include <unordered_set>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"

#include "libtorch/device/interpreter.hpp"
#include "libtorch/exchange/paired_elements.hpp"

namespace tandem::libtorch {
namespace {

namespace impl = torch::autograd::impl;

bool has_post_accumulate_hook(const at::Tensor& own) {
  const auto& hook = impl::post_acc_grad_hooks(own);
  if (hook == nullptr) return false;
  const Interpreter* const python = Interpreter::get();
  return python == nullptr || !python->are_removed(*hook);
}

/// What the hooks of `own` make of a gradient. They get a copy, which a program may keep.
Tensor hooked(const at::Tensor& own, const Tensor& gradient) {
  const at::NoGradGuard off;
  torch::autograd::variable_list all{
      to_torch_from_pairs(gradient.detach(), own.scalar_type(), own.device()).clone()};
  try {
    for (const auto& hook : impl::hooks(own))
      all = (*hook)(all);
  } catch (std::exception& error) {
    if (const Interpreter* const python = Interpreter::get()) python->keep_exception(error);
    throw;
  }
  return from_torch_in_pairs(all.front().detach(), gradient.device());
}

}  // namespace

FollowedHooks::FollowedHooks(const TorchSource& source) {
  std::unordered_set<const TensorImpl*> seen;
  for (const TorchSource::Slot& slot : source.slots()) {
    if (!slot.shown.requires_grad() || !seen.insert(slot.shown.shared().get()).second) continue;
    entries_.push_back({slot.name, slot.shown, slot.own});
  }
}

void FollowedHooks::follow() {
  for (Entry& entry : entries_) {
    TANDEM_CHECK(
        !has_post_accumulate_hook(entry.own),
        "step: '",
        entry.name,
        "' has a hook that runs after its gradient was accumulated, which may change what "
        "a step that fails could not restore; use register_hook, or loss(dp(x)).backward()");
    TANDEM_CHECK(entry.own.is_leaf(),
                 "step: '",
                 entry.name,
                 "' was computed from tensors that require grad, which a step does not reach; use "
                 "loss(dp(x)).backward()");
    const bool has = !impl::hooks(entry.own).empty();
    if (has == entry.id.has_value()) continue;
    if (has) {
      entry.id = autograd::register_hook(
          entry.shown, [own = entry.own](const Tensor& gradient) { return hooked(own, gradient); });
    } else {
      autograd::remove_hook(entry.shown, *entry.id);
      entry.id.reset();
    }
  }
}

}  // namespace tandem::libtorch
