// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "io/system_calls.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tandem/core/error.hpp"

namespace tandem::detail {
namespace {

int fsync_retry(int fd) {
  int rc = 0;
  do {
    rc = ::fsync(fd);
  } while (rc != 0 && errno == EINTR);
  return rc;
}

}  // namespace

void fail_by_system(const std::string& path,
                    std::int64_t offset,
                    const std::string& what,
                    int code) {
  throw FileError(path, offset, what + " (" + std::generic_category().message(code) + ")");
}

void check_path(const std::string& path) {
  if (path.empty()) throw FileError("''", -1, "a file needs a name");
  if (path.find('\0') != std::string::npos)
    throw FileError(path.c_str(), -1, "the name contains a NUL byte");
}

std::string follow_link(const std::string& path) {
  std::error_code ec;
  if (!std::filesystem::is_symlink(path, ec)) return path;
  const std::filesystem::path target = std::filesystem::canonical(path, ec);
  if (ec) throw FileError(path, -1, "cannot follow the link (" + ec.message() + ")");
  return target.string();
}

void check_owner(const std::string& path,
                 const std::string& target,
                 const std::filesystem::path& folder) {
  struct stat file {
  }, place{};
  if (::stat(target.c_str(), &file) != 0 || ::stat(folder.c_str(), &place) != 0) return;
  const uid_t own = ::geteuid();
  if ((place.st_mode & S_ISVTX) == 0 || own == 0 || own == file.st_uid || own == place.st_uid)
    return;
  throw FileError(path,
                  -1,
                  "belongs to another user, and its folder does not let you replace it; give "
                  "another path");
}

Descriptor open_directory(const std::string& path, const std::filesystem::path& folder) {
  Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0)
    fail_by_system(path, -1, "cannot open the directory " + folder.string(), errno);
  return directory;
}

void sync_content(const std::string& path, int fd) {
  if (fsync_retry(fd) != 0)
    fail_by_system(path, -1, "cannot flush the new content to the disk", errno);
}

void sync_rename(const std::string& path, int directory) {
  // Some file systems cannot fsync a directory and say EINVAL: then there is nothing more to be
  // done.
  if (fsync_retry(directory) != 0 && errno != EINVAL) {
    fail_by_system(path,
                   -1,
                   "the new content is in place, but a power failure may still undo the change",
                   errno);
  }
}

}  // namespace tandem::detail
