// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/comparison.hpp"

namespace tandem::report {

// A part of the page has pictures, a sentence that says what they show, and their numbers. The
// comparison has details.

/// What each device does, from moment to moment.
std::string timeline(const Comparison& comparison);
/// How long each device is in each phase.
std::string time_by_phase(const Comparison& comparison);

}  // namespace tandem::report
