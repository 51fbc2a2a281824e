// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tandem/io/file.hpp"

namespace tandem::detail {

/// @param code  the system's, whose text is added. @throws FileError
[[noreturn]] void fail_by_system(const std::string& path,
                                 std::int64_t offset,
                                 const std::string& what,
                                 int code);

/// @throws FileError  no file can have that name.
void check_path(const std::string& path);

/// What a write to `path` replaces: links are followed, so that they go on pointing at it.
///
/// @throws FileError  the link leads nowhere.
std::string follow_link(const std::string& path);

/// In a folder with the sticky bit, as /tmp, only the owner of a file or of the folder may replace
/// it.
///
/// @param path    that was given, named in errors. @param target  that is to be replaced.
/// @param folder  in which it is. @throws FileError
void check_owner(const std::string& path,
                 const std::string& target,
                 const std::filesystem::path& folder);

/// @param path  named in errors. @throws FileError
Descriptor open_directory(const std::string& path, const std::filesystem::path& folder);

/// Brings the new content for `path` to the disk, before it is renamed. @throws FileError
void sync_content(const std::string& path, int fd);
/// The same for the rename to `path` in an open directory. @throws FileError  it is in place.
void sync_rename(const std::string& path, int directory);

}  // namespace tandem::detail
