// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "data/places.hpp"

#include <cstdlib>
#include <system_error>

namespace tandem::data {

namespace fs = std::filesystem;

std::vector<fs::path> places(const char* name, const std::vector<fs::path>& more) {
  std::vector<fs::path> all;
  if (const char* root = std::getenv("TANDEM_DATA_DIR"); root != nullptr && *root != '\0')
    all.push_back(fs::path(root) / name);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<fs::path> shipped_places(const char* name) {
  std::error_code ignored;
  // share/tandem of the installation that the running program is a part of
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  return {program.parent_path().parent_path() / TANDEM_DATADIR / name,
          fs::path(TANDEM_INSTALLED_DATA) / name,
          fs::path(TANDEM_SOURCE_DATA) / name};
}

}  // namespace tandem::data
