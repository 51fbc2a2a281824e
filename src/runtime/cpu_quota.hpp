// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

namespace tandem {

/// Cores' worth of time that this process may use at most: the least quota of its control groups
/// and of those above, as `docker --cpus` sets it; in both versions of control groups.
///
/// @param root  where proc is: what files are named in it is looked for below this folder too.
/// @return nothing where there is no quota, or nothing that says so.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

}  // namespace tandem
