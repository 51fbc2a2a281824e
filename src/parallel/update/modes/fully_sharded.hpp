// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parallel/update/mode_rules.hpp"

namespace tandem::parallel::modes {

/// ZeRO-3: every device has its share of the parameters, gradients and state. A unit's parameters
/// are gathered where work uses them (adr/0021).
class FullySharded final : public ModeRules {
 public:
  const char* name() const noexcept override { return "fully_sharded"; }
  Reduction reduction() const noexcept override { return {.to = Reduction::To::shares}; }
  Sharded sharded() const noexcept override { return Sharded::values_and_gradients; }
  std::shared_ptr<ParameterUpdate> make_update(SharedParts parts) const override;
};

}  // namespace tandem::parallel::modes
