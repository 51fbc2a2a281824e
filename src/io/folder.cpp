// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "io/folder.hpp"

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "tandem/core/error.hpp"

#include "io/system_calls.hpp"
#include "io/temporary.hpp"

namespace tandem::detail {
namespace {

namespace fs = std::filesystem;
using IsPart = std::function<bool(const std::string&)>;

/// Where a new folder goes.
struct FolderPlace {
  std::string target;          ///< of links, without a slash at the end
  std::optional<mode_t> mode;  ///< of the folder that is there
  fs::path parent;
  Descriptor directory;  ///< the parent, opened first: after the rename there is no way back
};

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

/// @throws FileError  there is a file that is none of `is_part`.
void check_parts(const std::string& path, const IsPart& is_part) {
  std::error_code ec;
  for (fs::directory_iterator at(path, ec), end; !ec && at != end; at.increment(ec)) {
    const std::string name = at->path().filename().string();
    std::error_code gone;  // another writer may remove it meanwhile
    if (is_part(name) && (at->is_regular_file(gone) || !at->exists(gone))) continue;
    throw FileError(path,
                    -1,
                    "holds '" + name +
                        "', which is no part of a checkpoint, so the folder will not be replaced; "
                        "move that elsewhere, or give another path");
  }
  if (ec) throw FileError(path, -1, "cannot be listed (" + ec.message() + ")");
}

FolderPlace folder_place(const std::string& path, const IsPart& is_part) {
  check_path(path);
  FolderPlace place;
  place.target = follow_link(without_slashes(path));
  const fs::path parent = fs::path(place.target).parent_path();
  place.parent = parent.empty() ? fs::path(".") : parent;
  place.directory = open_directory(path, place.parent);
  struct stat info {};
  if (::stat(place.target.c_str(), &info) != 0) {
    if (errno == ENOENT) return place;
    fail_by_system(path, -1, "cannot read the status of the folder to be replaced", errno);
  }
  if (!S_ISDIR(info.st_mode)) {
    throw FileError(
        path,
        -1,
        "is not a folder and will not be replaced by one; give the path of a folder, or "
        "one where there is nothing yet");
  }
  if ((info.st_mode & 0222) == 0) {
    throw FileError(path,
                    -1,
                    "is write-protected for everybody and will not be replaced; make it writable "
                    "(chmod u+w), or name another folder");
  }
  place.mode = info.st_mode & 0777;
  check_parts(place.target, is_part);
  check_owner(path, place.target, place.parent);
  return place;
}

}  // namespace

FileWriter& FolderWriter::add(const std::string& name) {
  std::string path = path_ + "/" + name;
  Descriptor fd(
      ::open((temporary_ + "/" + name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd.get() < 0) fail_by_system(path, -1, "cannot be made; the old folder is unchanged", errno);
  return files_.emplace_back(std::move(path), std::move(fd)).writer;
}

void FolderWriter::sync() const {
  for (const File& file : files_)
    sync_content(file.path, file.fd.get());
}

void write_folder_atomically(const std::string& path,
                             const IsPart& is_part,
                             const std::function<void(FolderWriter&)>& fill) {
  const FolderPlace place = folder_place(path, is_part);
  Temporary temporary(path, place.parent, TemporaryKind::folder);
  if (place.mode && ::fchmod(temporary.fd(), *place.mode) != 0)
    fail_by_system(path, -1, "cannot keep the folder's permissions", errno);
  FolderWriter writer(path, temporary.name());
  fill(writer);
  writer.sync();
  sync_content(path, temporary.fd());
  if (!temporary.rename_to_free(place.target)) {
    check_parts(place.target, is_part);  // of another writer, perhaps
    temporary.exchange_with(place.target);
  }
  sync_rename(path, place.directory.get());
}

void check_replaceable_folder(const std::string& path, const IsPart& is_part) {
  const FolderPlace place = folder_place(path, is_part);
  const Temporary temporary(path, place.parent, TemporaryKind::folder);
  // The first save fills the folder, and the next ones replace it.
  const Temporary other(path, place.parent, TemporaryKind::folder);
  other.exchange_names(temporary.name());
}

}  // namespace tandem::detail
