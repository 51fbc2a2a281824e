// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tandem/io/file.hpp"

namespace tandem::detail {

enum class TemporaryKind : std::uint8_t { file, folder };

/// A new file or folder beside the one that it is to replace; removed on the way out unless it was
/// renamed.
///
/// Its descriptor holds a lock (flock) as long as it lives. Making one removes those of `folder`
/// whose lock is free: what a program that was killed has left there.
class Temporary {
 public:
  /// @param path    that it is for, named in errors.
  /// @param folder  in which it is made.
  /// @throws FileError  it cannot be made.
  Temporary(const std::string& path,
            const std::filesystem::path& folder,
            TemporaryKind kind = TemporaryKind::file);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::string& name() const noexcept { return name_; }
  int fd() const noexcept { return file_.get(); }
  /// @throws FileError  the system refuses; the file there is as it was.
  void rename_to(const std::string& path);
  /// The same for a folder. @return  false where there is a folder with something in it.
  bool rename_to_free(const std::string& path);
  /// Changes places, in one step, with the folder at `path`, which is removed on the way out.
  ///
  /// @throws FileError  the system refuses; both are as they were.
  void exchange_with(const std::string& path);
  /// The same with a folder whose lock this program has.
  void exchange_names(const std::string& path) const;

 private:
  [[noreturn]] void fail_to_replace(int code) const;

  const std::string path_;
  std::string name_;
  Descriptor file_;
  Descriptor old_;  // the folder that has got this name
  bool renamed_ = false;
};

}  // namespace tandem::detail
