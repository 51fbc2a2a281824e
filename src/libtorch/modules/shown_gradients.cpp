// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/shown_gradients.hpp"

#include <unordered_set>

#include "tandem/autograd/gradient_source.hpp"
#include "tandem/optim/arena.hpp"

#include "libtorch/exchange/paired_elements.hpp"
#include "libtorch/modules/module_changes.hpp"

namespace tandem::libtorch {

ShownGradients::ShownGradients(const TorchSource& source) {
  std::unordered_set<const TensorImpl*> seen;
  for (const TorchSource::Slot& slot : source.slots()) {
    const bool may_have = slot.shown.requires_grad() || slot.has_frozen_gradient;
    if (!may_have || !slot.own.is_leaf()) continue;
    if (!seen.insert(slot.shown.shared().get()).second) continue;
    const auto arena = optim::Arena::of(slot.shown);
    const Tensor storage = arena->gradient(*arena->place_of(slot.shown));
    entries_.push_back(
        {slot.shown,
         slot.own,
         storage,
         to_torch_from_pairs(storage.detach(), slot.own.scalar_type(), slot.own.device())});
    entries_.back().version = version_of(entries_.back().gradient);
  }
}

void ShownGradients::take() {
  for (Entry& entry : entries_) {
    const at::Tensor& gradient = entry.own.grad();
    const bool has = autograd::stored_gradient(entry.shown).defined();
    if (!gradient.defined()) {
      if (has) entry.shown.set_grad({});
    } else if (gradient.is_same(entry.gradient)) {
      if (!has) entry.shown.set_grad(entry.storage);
      if (version_of(gradient) == entry.version) continue;
      entry.version = version_of(gradient);
      count_write(entry.storage);
    } else {
      entry.shown.set_grad({});
      const at::Tensor dense = gradient.detach();
      entry.shown.set_grad(
          from_torch_in_pairs(dense.is_sparse() ? dense.to_dense() : dense, entry.shown.device()));
    }
  }
}

void ShownGradients::take_written() {
  take();
  for (const Entry& entry : entries_)
    count_write(entry.storage);
}

void ShownGradients::set(const Entry& entry, bool is_defined) {
  at::Tensor& gradient = entry.own.mutable_grad();
  if (!is_defined) {
    gradient.reset();
  } else if (!gradient.is_same(entry.gradient)) {
    gradient = entry.gradient;
  }
}

void ShownGradients::show() const {
  for (const Entry& entry : entries_)
    set(entry, entry.shown.grad().defined());
}

void ShownGradients::show_as_they_lie() const {
  for (const Entry& entry : entries_)
    set(entry, autograd::stored_gradient(entry.shown).defined());
}

void ShownGradients::hide() const {
  for (const Entry& entry : entries_)
    set(entry, false);
}

}  // namespace tandem::libtorch
