// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/comparison.hpp"

namespace tandem::report {

// A part of the page has pictures, a sentence that says what they show, and their numbers. The
// comparison has details.

/// What each device holds at its peak, by cause.
std::string memory_at_peak(const Comparison& comparison);
/// What the first device and the fullest other one hold, from moment to moment.
std::string memory_over_time(const Comparison& comparison);

}  // namespace tandem::report
