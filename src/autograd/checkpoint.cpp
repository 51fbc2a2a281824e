// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/checkpoint.hpp"

#include <utility>

#include "tandem/autograd/tape_context.hpp"

#include "autograd/checkpoint_state.hpp"

namespace tandem::autograd::detail {
namespace {

/// Kept until the end of the scope's run; what the function captures stays for the second one.
std::shared_ptr<const Context> context_of(const std::shared_ptr<CheckpointState>& checkpoint) {
  auto c = std::make_shared<Context>(context());
  change_tape_context(*c, [&](TapeContext& t) { t.checkpoint = checkpoint; });
  return c;
}

}  // namespace

CheckpointRun::CheckpointRun(std::function<void()> again)
    : checkpoint_(std::make_shared<CheckpointState>(std::move(again))),
      scope_(context_of(checkpoint_)) {}

void CheckpointRun::finish() const {
  checkpoint_->finish();
}

}  // namespace tandem::autograd::detail
