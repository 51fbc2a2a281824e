// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/comparison.hpp"

namespace tandem::report {

// A part of the page has pictures, a sentence that says what they show, and their numbers. The
// comparison has details.

/// The losses of the modes, and how far they are from the first mode's.
std::string losses(const Comparison& comparison);

}  // namespace tandem::report
