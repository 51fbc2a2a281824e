// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "data/data_directories.hpp"

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "tandem/core/error.hpp"

#include "core/own_file.hpp"

namespace tandem::datasets {

/// share/tandem of the installed package; null unless a program was linked to a static library by
/// its CMake package (cmake/tandem_package_data.cpp).
[[gnu::weak]] extern const char* const kPackageData;

namespace fs = std::filesystem;

namespace {

/// tandem's sources, as CMake has noted them in the build folder of a file; empty: it has none.
fs::path sources_of(const fs::path& file) {
  constexpr std::string_view kNote = "tandem_SOURCE_DIR:STATIC=";
  for (fs::path at = file.parent_path(); at.has_relative_path(); at = at.parent_path()) {
    std::ifstream notes(at / "CMakeCache.txt");
    for (std::string line; std::getline(notes, line);)
      if (line.starts_with(kNote)) return line.substr(kNote.size());
  }
  return {};
}

}  // namespace

std::vector<fs::path> data_directories(const char* name, const std::vector<fs::path>& more) {
  std::vector<fs::path> all;
  if (const char* root = std::getenv("TANDEM_DATA_DIR"); root != nullptr && *root != '\0') {
    std::error_code ignored;
    if (!fs::is_directory(root, ignored))
      throw FileError(
          root,
          -1,
          "is not a directory, but TANDEM_DATA_DIR is set to it; set it to a directory of data "
          "sets, or unset it");
    all.push_back(fs::path(root) / name);
  }
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<fs::path> shipped_directories(const char* name) {
  std::error_code ignored;
  // share/tandem of the installation that the running program, or the library, is a part of
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  std::vector<fs::path> all{program.parent_path().parent_path() / TANDEM_DATADIR / name};
  const fs::path library = own_file();
  const fs::path beside =
      (library.parent_path() / TANDEM_DATA_FROM_LIBRARY / name).lexically_normal();
  if (!library.empty() && beside != all.front()) all.push_back(beside);
  if (&kPackageData != nullptr) all.push_back(fs::path(kPackageData) / name);
  if (const fs::path prefix = TANDEM_INSTALLED_DATA; !prefix.empty()) all.push_back(prefix / name);
  if (const fs::path sources = sources_of(library); !sources.empty())
    all.push_back(sources / "examples" / "data" / name);
  return all;
}

}  // namespace tandem::datasets
