// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tandem::cli {

/// Says what to write instead, if the first word of a line is a name that a command had before.
///
/// @throws UsageError  it is such a name; the text has the new line.
void check_former_name(const std::vector<std::string>& words);

}  // namespace tandem::cli
