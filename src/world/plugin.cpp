// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/plugin.hpp"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <dlfcn.h>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

namespace tandem::world {
namespace {

using std::filesystem::path;
using tandem::detail::concat;

std::vector<path> folders() {
  std::vector<path> found;
  if (const char* named = std::getenv("TANDEM_PLUGINS")) found.emplace_back(named);
  Dl_info own{};
  if (::dladdr(reinterpret_cast<const void*>(&folders), &own) != 0 && own.dli_fname != nullptr) {
    std::error_code unknown;
    const path file = std::filesystem::canonical(own.dli_fname, unknown);
    // A program is known by the name that it was called by.
    const path here = unknown ? std::filesystem::canonical("/proc/self/exe", unknown) : file;
    found.push_back(here.parent_path());
    found.push_back(here.parent_path().parent_path() / "lib" / "tandem");
  }
  found.emplace_back(TANDEM_PLUGIN_FOLDER);
  return found;
}

}  // namespace

void* plugin_function(const std::string& name, const char* function, const std::string& package) {
  const std::string file = "libtandem-" + name + ".so";
  std::string reasons;
  for (const path& folder : folders()) {
    const path candidate = folder / file;
    std::error_code unknown;
    if (!std::filesystem::exists(candidate, unknown)) {
      reasons += concat(reasons.empty() ? "" : ", ", folder.string(), " has none");
      continue;
    }
    void* const library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) throw CommError(concat(name, ": ", ::dlerror(), "; install ", package));
    void* const found = ::dlsym(library, function);
    if (found == nullptr)
      throw CommError(concat(name,
                             ": ",
                             candidate.string(),
                             " is of another version of tandem: ",
                             "it has no ",
                             function));
    return found;
  }
  throw CommError(concat(name,
                         ": this tandem was built without it (",
                         file,
                         ": ",
                         reasons,
                         "); install ",
                         package,
                         " and configure again, or set TANDEM_PLUGINS"));
}

}  // namespace tandem::world
