// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "report/comparison.hpp"

namespace tandem::report {

/// The modes that are fastest, in the order of their medians: the one with the least, and those
/// whose medians are within its own steps' spread (p90). Simulated times have no spread.
std::vector<const Mode*> fastest_modes(const Comparison& comparison);
/// A sentence that names them.
std::string fastest_sentence(const Comparison& comparison);

}  // namespace tandem::report
