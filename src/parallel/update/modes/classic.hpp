// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parallel/update/mode_rules.hpp"

namespace tandem::parallel::modes {

/// PyTorch's nn.DataParallel: every forward starts threads and sends everything. Gradients are
/// reduced to device 0 after backward has ended.
class Classic final : public ModeRules {
 public:
  const char* name() const noexcept override { return "classic"; }
  Reduction reduction() const noexcept override {
    return {.to = Reduction::To::rank_0, .at_end = true};
  }
  Replication replication() const noexcept override { return Replication::every_forward; }
};

}  // namespace tandem::parallel::modes
