// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "core/own_file.hpp"

#include <system_error>

#include <dlfcn.h>
#include <link.h>

namespace tandem {

std::filesystem::path own_file() {
  Dl_info info{};
  link_map* map = nullptr;
  const auto here = reinterpret_cast<const void*>(&own_file);
  if (::dladdr1(here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 ||
      map == nullptr || map->l_name == nullptr)
    return {};
  // The program itself has no name there, and dli_fname is argv[0]: whatever the caller says.
  const bool is_program = map->l_name[0] == '\0';
  const std::filesystem::path name = is_program ? "/proc/self/exe" : map->l_name;
  // A library that was found by a relative path says nothing once the current folder is another.
  if (!name.is_absolute()) return {};
  std::error_code unknown;
  const std::filesystem::path file = std::filesystem::canonical(name, unknown);
  return unknown ? std::filesystem::path() : file;
}

}  // namespace tandem
