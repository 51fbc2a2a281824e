// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parallel/update/mode_rules.hpp"

namespace tandem::parallel::modes {

/// Every device reduces and updates its share of each bucket, and sends the new values to all
/// devices (adr/0009).
class Sharded final : public ModeRules {
 public:
  const char* name() const noexcept override { return "sharded"; }
  Reduction reduction() const noexcept override { return {.to = Reduction::To::shares}; }
  std::shared_ptr<ParameterUpdate> make_update(SharedParts parts) const override;
};

}  // namespace tandem::parallel::modes
