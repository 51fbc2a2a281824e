// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

namespace tandem {

/// How many cores' worth of time this process may use at most: the smallest quota of its control
/// group and of the groups above it, as `docker --cpus` sets it. Reads both versions of control
/// groups.
///
/// @param root  the folder that contains proc; paths named in proc's files are looked up below it
///              too.
/// @return none if there is no quota, or nothing that tells it.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

}  // namespace tandem
