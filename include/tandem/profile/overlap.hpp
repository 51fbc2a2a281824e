// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tandem/profile/step_record.hpp"

namespace tandem::profile {

/// How long bytes were moving, and for how much of this time there was work to hide it.
struct Overlap {
  Duration transferring{};  ///< the time in which some link was moving bytes
  Duration hidden{};        ///< the part of it in which some device did work that counts
  /// hidden / transferring; 0 if no bytes were moving.
  double share() const noexcept {
    if (transferring <= Duration{}) return 0;
    return static_cast<double>(hidden.count()) / static_cast<double>(transferring.count());
  }
};

/// Computes how much of the transfers' time was hidden by work.
///
/// @param counts   whether a piece of work computes, rather than waits for others or sends.
/// @param travels  whether to look at a transfer; empty: look at all.
Overlap overlap(const StepRecord& record,
                const std::function<bool(const WorkSpan&)>& counts,
                const std::function<bool(const Transfer&)>& travels = {});

}  // namespace tandem::profile
