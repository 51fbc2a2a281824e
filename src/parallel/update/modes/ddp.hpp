// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parallel/update/mode_rules.hpp"

namespace tandem::parallel::modes {

/// PyTorch's DistributedDataParallel: every device gets all gradients and updates its own copy.
class Ddp final : public ModeRules {
 public:
  const char* name() const noexcept override { return "ddp"; }
  Reduction reduction() const noexcept override { return {.to = Reduction::To::all}; }
  std::shared_ptr<ParameterUpdate> make_update(SharedParts parts) const override;
};

}  // namespace tandem::parallel::modes
