// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/units/gathered_ahead.hpp"

#include <vector>

namespace tandem::parallel {

std::shared_ptr<Buffer> GatheredAhead::take(int block) {
  if (ahead_.empty()) return nullptr;
  if (ahead_.front().block != block) {
    ahead_.clear();
    return nullptr;
  }
  std::shared_ptr<Buffer> whole = ahead_.front().whole.take();
  ahead_.pop_front();
  return whole;
}

void GatheredAhead::note(int block, const Context& c, const Begin& begin) {
  const bool in_backward = c.phase == Phase::backward;
  if (count_ == 0 || (!in_backward && c.phase != Phase::forward && c.phase != Phase::loss)) return;
  // A part of a forward that backward repeats belongs to the backward.
  using enum GatherOrder::Pass;
  const GatherOrder::Pass pass = in_backward || c.recomputes ? backward : forward;
  if (pass != pass_) begin_pass(pass);
  const std::vector<int> next = order_.note(block, count_);
  for (std::size_t i = ahead_.size(); i < next.size(); ++i)
    ahead_.push_back({next[i], begin(next[i])});
}

void GatheredAhead::end_job() {
  begin_pass(GatherOrder::Pass::forward);
}

void GatheredAhead::begin_pass(GatherOrder::Pass pass) {
  ahead_.clear();
  order_.begin(pass);
  pass_ = pass;
}

}  // namespace tandem::parallel
