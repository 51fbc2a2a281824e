// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <string>

#include "tandem/io/file.hpp"

namespace tandem::detail {

/// Takes the files of a folder while write_folder_atomically runs.
class FolderWriter {
 public:
  /// A new file, which stays open until the folder is complete.
  ///
  /// @param name  of a file within the folder, not used before. @throws FileError
  FileWriter& add(const std::string& name);

  FolderWriter(const FolderWriter&) = delete;
  FolderWriter& operator=(const FolderWriter&) = delete;

 private:
  friend void write_folder_atomically(const std::string&,
                                      const std::function<bool(const std::string&)>&,
                                      const std::function<void(FolderWriter&)>&);
  struct File {
    File(std::string p, Descriptor f) : path(std::move(p)), fd(std::move(f)) {}
    std::string path;  // as it will be, for errors
    Descriptor fd;
    FileWriter writer{path, fd.get()};
  };
  FolderWriter(const std::string& path, const std::string& temporary)
      : path_(path), temporary_(temporary) {}
  void sync() const;

  const std::string& path_;
  const std::string& temporary_;
  std::list<File> files_;
};

/// Replaces the folder at `path`, or makes it, with the files that `fill` writes, in one step. Who
/// looks sees the old folder or the new one, and so does a machine after a power failure.
///
/// Writes a temporary folder beside it, then does fsync of each file and of the folder, exchanges
/// the two, and removes the old one. A link is followed. An old folder keeps its permissions.
/// Thread-safe: of two writers to one path, the last one wins.
///
/// @param is_part  whether a file of that name is a part of what is written. An old folder with
///                 anything else in it is not replaced.
/// @throws FileError  as write_atomically; `path` names something that is not a folder, or a folder
///                    that holds something else; the file system cannot exchange two folders.
/// @throws  what `fill` throws. The old folder is unchanged.
void write_folder_atomically(const std::string& path,
                             const std::function<bool(const std::string& name)>& is_part,
                             const std::function<void(FolderWriter&)>& fill);

/// Finds out whether write_folder_atomically could write `path`, and leaves no trace.
///
/// @throws FileError  as write_folder_atomically would before it writes.
void check_replaceable_folder(const std::string& path,
                              const std::function<bool(const std::string& name)>& is_part);

}  // namespace tandem::detail
