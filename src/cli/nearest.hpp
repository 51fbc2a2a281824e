// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tandem::cli {

/// The names that someone who wrote `given` may have meant: those that begin with it, or that
/// differ from it in the fewest letters, if these are few.
std::vector<std::string> nearest(const std::string& given, const std::vector<std::string>& names);

}  // namespace tandem::cli
