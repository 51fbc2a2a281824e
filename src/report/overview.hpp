// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/comparison.hpp"

namespace tandem::report {

// A part of the page has pictures, a sentence that says what they show, and their numbers. The
// comparison has details.

/// Time, memory, traffic and weights of the modes, side by side.
std::string overview(const Comparison& comparison);
/// Bytes from each device to each.
std::string traffic(const Comparison& comparison);

}  // namespace tandem::report
