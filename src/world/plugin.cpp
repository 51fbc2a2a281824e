// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/plugin.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <dlfcn.h>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

#include "core/own_file.hpp"

namespace tandem::world {

/// lib/tandem of the installed package; null unless a program was linked to a static library by its
/// CMake package (cmake/tandem_package_data.cpp).
[[gnu::weak]] extern const char* const kPackagePlugins;

namespace {

using std::filesystem::path;
using tandem::detail::concat;

/// Where plug-ins may be. The current folder is none of them, whoever can write there, unless
/// TANDEM_PLUGINS names it.
std::vector<path> folders() {
  std::vector<path> found;
  const char* named = std::getenv("TANDEM_PLUGINS");
  if (named != nullptr && *named != '\0') found.emplace_back(named);
  if (const path here = own_file().parent_path(); !here.empty()) {
    found.push_back(here);
    found.push_back(here / "tandem");
    found.push_back(here.parent_path() / "lib" / "tandem");
  }
  if (&kPackagePlugins != nullptr) found.emplace_back(kPackagePlugins);
  found.emplace_back(TANDEM_PLUGIN_FOLDER);
  std::vector<path> all;
  for (const path& folder : found)
    if (!folder.empty() && std::ranges::find(all, folder) == all.end()) all.push_back(folder);
  return all;
}

/// For a plug-in that is in none of the folders.
CommError not_found(const std::string& name,
                    const std::string& file,
                    const std::string& package,
                    const std::vector<path>& searched) {
  std::string where;
  for (const path& folder : searched)
    where += concat(where.empty() ? "" : ", ", folder.string());
  const bool was_built =
      std::string(" " TANDEM_BUILT_PLUGINS " ").find(" " + name + " ") != std::string::npos;
  return CommError(was_built ? concat(name,
                                      ": this tandem was built with it, but ",
                                      file,
                                      " is not found in any of ",
                                      where,
                                      "; set TANDEM_PLUGINS to the folder that has it")
                             : concat(name,
                                      ": this tandem was built without it (",
                                      file,
                                      " is not found in any of ",
                                      where,
                                      "); install ",
                                      package,
                                      " and configure again, or set TANDEM_PLUGINS"));
}

}  // namespace

void* plugin_function(const std::string& name, const char* function, const std::string& package) {
  const std::string file = "libtandem-" + name + ".so";
  const std::vector<path> searched = folders();
  for (const path& folder : searched) {
    const path candidate = folder / file;
    std::error_code unknown;
    if (!std::filesystem::exists(candidate, unknown)) continue;
    // A name without a stroke would be looked for elsewhere.
    void* const library =
        ::dlopen(std::filesystem::absolute(candidate).c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) throw CommError(concat(name, ": ", ::dlerror(), "; install ", package));
    void* const found = ::dlsym(library, function);
    if (found == nullptr)
      throw CommError(concat(name,
                             ": ",
                             candidate.string(),
                             " is of another version of tandem: ",
                             "it has no ",
                             function,
                             "; install both of one version"));
    return found;
  }
  throw not_found(name, file, package, searched);
}

}  // namespace tandem::world
