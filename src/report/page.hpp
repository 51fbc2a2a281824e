// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/comparison.hpp"

namespace tandem::report {

/// A comparison with details as one HTML file that needs nothing else: pictures in SVG, each with a
/// sentence and its numbers; light or dark as the reader's system is, and light on paper.
std::string page(const Comparison& comparison);

}  // namespace tandem::report
