// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/profile/step_record.hpp"

namespace tandem::profile {

/// A record as Chrome's trace events in JSON, which ui.perfetto.dev and chrome://tracing show.
///
/// A process for each device, with a track for each thread that worked on it: phases, in them the
/// modules, in these the work; spans of a track nest. A process for the links, with a track for
/// each (and further ones where transfers of a link overlap). Times are in microseconds from the
/// record's beginning. Of a GPU's work it is the time to queue.
std::string trace_json(const StepRecord& record);

}  // namespace tandem::profile
