// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tandem/profile/step_record.hpp"
#include "tandem/sim/step_clock.hpp"

namespace tandem::cli {

/// What a GPU does during a step. Work, exposed, copies and idle add up to the step.
struct GpuFigures {
  profile::Duration work{};         ///< of its stream of work, without waits
  profile::Duration collectives{};  ///< of its stream of collectives
  profile::Duration exposed{};      ///< how long its stream of work waited for collectives
  profile::Duration copies{};       ///< how long it had nothing to do while bytes were copied to or
                                    ///< from it
  profile::Duration idle{};         ///< how long it had nothing to do else
  std::size_t peak = 0;             ///< bytes
};

/// A GPU's figures of the second step.
GpuFigures figures_of(const sim::FollowedStep& step, Device device, std::size_t peak);

}  // namespace tandem::cli
