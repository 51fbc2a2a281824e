// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parallel/reduce/gradient_shares.hpp"

namespace tandem::parallel {

/// Shares that stay in the arena, where the reduction has put them: nothing is to be done for them.
class ArenaShares final : public GradientShares {
 public:
  bool leave_the_arena() const noexcept override { return false; }
  Tensor gradient_share(int, const Tensor& in_arena) const override { return in_arena; }
  void end_reduction(int) override {}
  void end_backward() override {}
};

}  // namespace tandem::parallel
