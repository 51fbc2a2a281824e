// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "tandem/io/file.hpp"

namespace tandem::detail {

/// A new file beside the one that it is to replace; removed on the way out unless it was renamed.
///
/// Its descriptor holds a lock (flock) as long as it lives. Making one removes those of `folder`
/// whose lock is free: what a program that was killed has left there.
class Temporary {
 public:
  /// @param path  that it is for, named in errors. @throws FileError  it cannot be made.
  Temporary(const std::string& path, const std::filesystem::path& folder);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  int fd() const noexcept { return file_.get(); }
  /// @throws FileError  the system refuses; the file there is as it was.
  void rename_to(const std::string& path);

 private:
  std::string name_;
  Descriptor file_;
  bool renamed_ = false;
};

}  // namespace tandem::detail
