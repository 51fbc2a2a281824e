// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tandem::cli {

/// Those of `names` that someone who wrote `given` may have meant, the nearest first: few letters
/// apart, or begun by it.
std::vector<std::string> nearest(const std::string& given, const std::vector<std::string>& names);

}  // namespace tandem::cli
