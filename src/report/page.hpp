// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/comparison.hpp"

namespace tandem::report {

/// A comparison with details as one HTML file that needs nothing else: pictures in SVG, each with a
/// sentence and its numbers; light or dark as the reader's system is, and light on paper.
std::string page(const Comparison& comparison);
/// The page's parts on memory, of one recorded run.
std::string memory_page(const Recording& recording);
/// The page's parts on time and traffic, of one recorded run.
std::string time_page(const Recording& recording);
/// A page within another one, such as a notebook's: neither's style reaches the other.
std::string embedded(const std::string& page);

}  // namespace tandem::report
