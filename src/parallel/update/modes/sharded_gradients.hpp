// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parallel/update/mode_rules.hpp"

namespace tandem::parallel::modes {

/// ZeRO-2: every device has whole values, and its share of the gradients and of the state. A unit's
/// gradients are given back once they have been reduced (adr/0021).
class ShardedGradients final : public ModeRules {
 public:
  const char* name() const noexcept override { return "sharded_gradients"; }
  Reduction reduction() const noexcept override { return {.to = Reduction::To::shares}; }
  Sharded sharded() const noexcept override { return Sharded::gradients; }
  std::shared_ptr<ParameterUpdate> make_update(SharedParts parts) const override;
};

}  // namespace tandem::parallel::modes
