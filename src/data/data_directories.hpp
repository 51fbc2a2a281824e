// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

namespace tandem::datasets {

/// Directories where a data set may be: TANDEM_DATA_DIR's, then `more`.
std::vector<std::filesystem::path> data_directories(const char* name,
                                                    const std::vector<std::filesystem::path>& more);

/// Where data that is part of tandem lies: beside the program, in the installation, in the sources.
std::vector<std::filesystem::path> shipped_directories(const char* name);

}  // namespace tandem::datasets
