// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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

/// The most bytes of an embedded page. A notebook keeps each in its file.
inline constexpr std::size_t kMostEmbeddedBytes = 200'000;

/// The same pages within another page, such as a notebook's: neither's style reaches the other.
/// Pictures are left out, and named below, where it would be larger than kMostEmbeddedBytes.
std::string embedded_page(const Comparison& comparison);
std::string embedded_memory_page(const Recording& recording);
std::string embedded_time_page(const Recording& recording);

}  // namespace tandem::report
