// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tandem::cli {

/// What a command does with a path that was given.
enum class FileUse : std::uint8_t {
  replaced,     ///< in one step, by write_atomically; "-" is stdout, and a FIFO or a device is
                ///< written to
  kept,         ///< replaced in one step; it must be a regular file
  kept_folder,  ///< the same of a folder with a sharded checkpoint
  appended,     ///< written to as the work goes on
  folder,       ///< a folder in which files are made
  read,
};

/// A path, and the option that gave it. An empty path means that the option was not given.
struct GivenFile {
  const char* option;
  std::string path;
  FileUse use = FileUse::replaced;
};

/// Finds out before the work, not after it, whether all files can be written. It changes nothing.
///
/// @throws UsageError  two options name one file, of which one is written.
/// @throws FileError   a file cannot be written.
void check_files(const std::vector<GivenFile>& files);

/// Whether the path is a FIFO, a device or a number of /dev/fd. Such a file has another end, so it
/// cannot be replaced.
bool is_stream(const std::string& path);

/// Writes to a file, to a stream, or to stdout for "-".
///
/// @throws FileError
void write_text(const std::string& path, const std::string& text);
void write_json(const std::string& path, const nlohmann::json& json);

}  // namespace tandem::cli
