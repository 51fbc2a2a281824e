// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/profile/memory_profile.hpp"
#include "tandem/profile/step_record.hpp"

namespace tandem::profile {

/// A record as Chrome's trace events in JSON, which ui.perfetto.dev and chrome://tracing show.
///
/// A process for each device, with a track for each thread that worked on it, and for the
/// main stream of a GPU: phases, in them the modules, in these the work; spans of a track nest. A
/// GPU's thread gives work to the streams, which do it. A process for the links, with a track for
/// each (and further ones where transfers of a link overlap). Times are in microseconds from the
/// record's beginning.
std::string trace_json(const StepRecord& record);
/// The same with a counter for each device: what it holds, by category, as it changes. Both were
/// recorded at the same time.
std::string trace_json(const StepRecord& record, const MemoryProfile& memory);

}  // namespace tandem::profile
