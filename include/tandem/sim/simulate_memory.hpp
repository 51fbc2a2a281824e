// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/profile/memory_profile.hpp"
#include "tandem/profile/step_record.hpp"

namespace tandem::sim {

/// The memory of the same steps, in simulated time: a device holds what it held when it was given a
/// piece of work, from when it does that work.
///
/// A pure function; thread-safe.
/// @param simulated  what `simulate` made of the record of the steps during which `memory` was
///                   recorded
/// @throws InvalidArgument  `simulated` is of other steps, with less work.
profile::MemoryProfile simulate_memory(const profile::MemoryProfile& memory,
                                       const profile::StepRecord& simulated);

}  // namespace tandem::sim
