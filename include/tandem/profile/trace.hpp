// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/profile/memory_profile.hpp"
#include "tandem/profile/step_record.hpp"

namespace tandem::profile {

/// Writes a record as Chrome's trace events in JSON, which ui.perfetto.dev and chrome://tracing
/// show.
///
/// There is a process for each device. It has a track for each thread that worked on the device
/// and, for a GPU, one for the main stream. The spans of these tracks nest: phases contain modules,
/// and modules contain work. The thread's track shows when a GPU's work was queued, the stream's
/// track when it was done. A GPU's side stream has a track of its own without nesting. A further
/// process has a track for each link. The processes' names say where times are simulated, and on
/// what machine. If spans of a side stream or of a link overlap, it gets more
/// tracks. Times are in microseconds since the beginning of the record.
std::string trace_json(const StepRecord& record);
/// The same, with a counter for each device that shows what it holds, by category, as it changes.
/// Both arguments must have been recorded at the same time.
std::string trace_json(const StepRecord& record, const MemoryProfile& memory);

}  // namespace tandem::profile
