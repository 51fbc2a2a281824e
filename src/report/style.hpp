// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::report {

/// The page's style, but for colours_css().
extern const char* const kStyle;
/// Shows tips, and what a legend's entry stands for.
extern const char* const kScript;

}  // namespace tandem::report
