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
  replaced,  ///< in one step, by write_atomically; "-" is stdout, and what is no regular file (a
             ///< FIFO, /dev/null) is written to
  kept,      ///< the same, but a regular file alone
  appended,  ///< written to as the work goes on
  folder,    ///< of files that are made
  read,
};

/// A path that was given, and where; an empty one is none.
struct GivenFile {
  const char* option;
  std::string path;
  FileUse use = FileUse::replaced;
};

/// Finds out before the work, not after it, whether all that is to be written can be. Nothing
/// changes.
///
/// @throws UsageError  two options name one file, of which one is written.
/// @throws FileError   a file cannot be written.
void check_files(const std::vector<GivenFile>& files);

/// A FIFO, a device, a number of /dev/fd: what others hold the other end of. It cannot be replaced.
bool is_stream(const std::string& path);

/// To a file, to a stream, or to stdout for "-".
///
/// @throws FileError
void write_text(const std::string& path, const std::string& text);
void write_json(const std::string& path, const nlohmann::json& json);

}  // namespace tandem::cli
