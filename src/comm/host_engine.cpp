// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/host_engine.hpp"

#include <thread>

namespace tandem::comm {

void HostEngine::begin(const std::shared_ptr<Operation>& op) {
  // A single slice is done here before anyone could wake up to help.
  if (op->plan.slices != 1) op->wake();
  help(*op);
}

void HostEngine::help(Operation& op) noexcept {
  for (;;) {
    const std::int64_t slice = op.claimed.fetch_add(1, std::memory_order_relaxed);
    if (slice >= op.plan.slices) return;
    // What comes first was claimed first: other threads are at it.
    for (const std::int64_t after = op.plan.piece_of(slice).after;
         op.done.load(std::memory_order_acquire) < after;)
      std::this_thread::yield();
    op.plan.run(slice);
    // Release: the slice's result; acquire: those of the others, for whoever completes.
    if (op.done.fetch_add(1, std::memory_order_acq_rel) + 1 == op.plan.slices) op.finish();
  }
}

std::shared_ptr<Engine> HostEngine::split(const std::vector<int>&, std::int64_t) const {
  return std::make_shared<HostEngine>();
}

}  // namespace tandem::comm
