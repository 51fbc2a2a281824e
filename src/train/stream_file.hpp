// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace tandem::training {

/// What becomes of a file that is there already.
enum class StreamStart : std::uint8_t {
  append,
  replace,
  refuse,  ///< also where the name is a link's
};

/// A file that grows, and that others read meanwhile.
///
/// A link to a file that is not there does not make that file.
class StreamFile {
 public:
  /// @throws FileError
  StreamFile(const std::string& path, StreamStart start);
  bool is_empty() const { return std::ftell(file_.get()) == 0; }
  /// @throws FileError
  void write(std::string_view bytes);

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// Finds out whether StreamFile could write a file, and leaves no trace of it.
///
/// @throws FileError
void check_stream_file(const std::string& path);

/// Since 1970.
double seconds_now();

}  // namespace tandem::training
