// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "autograd/checkpoint_state.hpp"

#include <utility>

#include "tandem/autograd/tape_context.hpp"
#include "tandem/core/check.hpp"
#include "tandem/tensor/access.hpp"

namespace tandem::autograd {

CheckpointState::CheckpointState(std::function<void()> again)
    : again_(std::move(again)),
      context_(share_context()),
      numbers_(default_generator().get_state()) {
  if (context_->frame != nullptr) position_ = *context_->frame;
}

void CheckpointState::finish() {
  const std::scoped_lock lock(mutex_);
  finished_ = true;
  if (position_) return;
  const GeneratorState now = default_generator().get_state();
  TANDEM_CHECK(now.draws == numbers_.draws && now.forwards <= numbers_.forwards + 1,
               "checkpoint: outside a module's forward, random numbers can be drawn again for one "
               "module only; call checkpoint from a module's forward, or give it one module");
}

std::shared_ptr<SavedSlot> CheckpointState::keep(const Tensor& x) {
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<SavedSlot> slot;
  if (finished_) {
    TANDEM_CHECK(next_ < slots_.size(),
                 "checkpoint: the second run saves more than the ",
                 slots_.size(),
                 " tensors of the first; the function must do the same in both runs");
    slot = slots_[next_++].lock();
  } else {
    slots_.emplace_back();
  }
  if (slot == nullptr) {
    slot = std::make_shared<SavedSlot>();
    slot->checkpoint = shared_from_this();
    slot->shape = x.shape();
    slot->dtype = x.dtype();
    if (!finished_) slots_.back() = slot;
  }
  TANDEM_CHECK(slot->shape == x.shape() && slot->dtype == x.dtype(),
               "checkpoint: the second run saves ",
               x.describe(),
               " where the first saved ",
               slot->dtype,
               ' ',
               slot->shape,
               "; the function must do the same in both runs");
  slot->version = version_of(x);
  if (finished_) {
    slot->made = x;  // on the second run's tape: formulas ask for that, and go through it for
                     // gradients of gradients
  } else {
    slot->original = x.shared();
  }
  return slot;
}

const Tensor& CheckpointState::get(SavedSlot& slot) {
  const std::scoped_lock lock(mutex_);
  if (!slot.made.defined()) {
    if (const auto original = slot.original.lock()) {
      slot.made = Tensor(original);
    } else {
      TANDEM_ASSERT(finished_, "checkpoint: a saved tensor is read before the forward has ended");
      run_again();
      TANDEM_CHECK(slot.made.defined(),
                   "checkpoint: the second run does not save what the first did; the function must "
                   "do the same in both runs");
    }
  }
  return slot.made;
}

void CheckpointState::run_again() {
  TANDEM_ASSERT(again_ != nullptr, "checkpoint: a tensor of the second run is gone");
  const Context& now = context();
  auto c = std::make_shared<Context>(*context_);
  c->grad_enabled = true;
  c->recomputes = true;
  change_tape_context(*c, [&](TapeContext& t) { t.checkpoint = shared_from_this(); });
  c->frame = std::make_shared<ForwardFrame>(
      position_ ? *position_ : ForwardFrame{.seed = numbers_.seed, .forward = numbers_.forwards});
  c->phase = now.phase;
  c->deadline = now.deadline;
  c->abort = now.abort;
  c->threads = now.threads;
  next_ = 0;
  const ContextScope scope(std::move(c));
  again_();
  TANDEM_CHECK(next_ == slots_.size(),
               "checkpoint: the second run saves ",
               next_,
               " tensors, but the first saved ",
               slots_.size(),
               "; the function must do the same in both runs");
  again_ = nullptr;  // every slot that is still needed is filled; the inputs may go
}

}  // namespace tandem::autograd
