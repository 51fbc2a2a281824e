// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parallel/update/mode_rules.hpp"

namespace tandem::parallel::modes {

/// Device 0 owns the model. Gradients are reduced to it, bucket by bucket, while backward runs.
class Server final : public ModeRules {
 public:
  const char* name() const noexcept override { return "server"; }
  Reduction reduction() const noexcept override { return {.to = Reduction::To::rank_0}; }
};

}  // namespace tandem::parallel::modes
