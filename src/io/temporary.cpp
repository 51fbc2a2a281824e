// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "io/temporary.hpp"

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tandem/core/error.hpp"

namespace tandem::detail {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTemporaries = 1000;
constexpr std::string_view kBegin = ".tandem-";

std::string_view end_of(TemporaryKind kind) {
  return kind == TemporaryKind::file ? ".tmp" : ".folder";
}

/// The file that `name` names is the open one. Nobody else's: links are not followed.
bool is_name_of(const std::string& name, int fd) {
  struct stat named {
  }, open{};
  return ::lstat(name.c_str(), &named) == 0 && ::fstat(fd, &open) == 0 &&
         named.st_ino == open.st_ino && named.st_dev == open.st_dev;
}

/// Waits for the lock. A file system without locks: then nobody can sweep either.
void lock(int fd) {
  while (::flock(fd, LOCK_EX) != 0 && errno == EINTR) {
  }
}

bool is_own(int fd, TemporaryKind kind) {
  struct stat info {};
  const mode_t type = kind == TemporaryKind::file ? S_IFREG : S_IFDIR;
  return ::fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == type && info.st_uid == ::geteuid();
}

/// A file, or a folder and what is in it; links are not followed.
void remove_all(const std::string& name) {
  std::error_code ignored;  // whoever comes next tries once more
  fs::remove_all(name, ignored);
}

/// Removes the temporary `name` if nobody has it locked: whoever writes one holds its lock.
void sweep(const std::string& name, TemporaryKind kind) {
  // O_NONBLOCK: a FIFO of that name would wait for ever.
  const Descriptor file(::open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0 || !is_own(file.get(), kind)) return;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return;
  // Only who has the lock may remove the name, so that it stays this file's until then.
  if (is_name_of(name, file.get())) remove_all(name);
}

void sweep_all(const fs::path& folder) {
  std::error_code ec;
  for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
    const std::string name = at->path().filename().string();
    for (const auto kind : {TemporaryKind::file, TemporaryKind::folder})
      if (name.starts_with(kBegin) && name.ends_with(end_of(kind)))
        sweep(at->path().string(), kind);
  }
}

int open_new(const std::string& name, TemporaryKind kind) {
  if (kind == TemporaryKind::file)
    return ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (::mkdir(name.c_str(), 0777) != 0) return -1;
  const int fd = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    const int code = errno;
    ::rmdir(name.c_str());
    errno = code == ENOENT ? EEXIST : code;  // another program has taken it for a dead one's
  }
  return fd;
}

/// A new one with its lock; nothing where the name is taken.
std::optional<Descriptor> make(const std::string& name, TemporaryKind kind) {
  Descriptor file(open_new(name, kind));
  if (file.get() < 0 && errno == EEXIST) return std::nullopt;
  if (file.get() >= 0) lock(file.get());
  // Between the two calls another program may have taken it for a dead one's.
  if (file.get() >= 0 && !is_name_of(name, file.get())) return std::nullopt;
  return file;
}

}  // namespace

Temporary::Temporary(const std::string& path, const fs::path& folder, TemporaryKind kind)
    : path_(path) {
  sweep_all(folder);
  // The name does not contain the target's, which may already be as long as the system allows.
  for (int i = 0; i < kMostTemporaries; ++i) {
    const std::string file = std::string(kBegin) + std::to_string(::getpid()) + '-' +
                             std::to_string(i) + std::string(end_of(kind));
    name_ = (folder / file).string();
    std::optional<Descriptor> made = make(name_, kind);
    if (!made) continue;
    if (made->get() < 0) break;
    file_ = std::move(*made);
    return;
  }
  const int code = errno;
  throw FileError(path,
                  -1,
                  std::string("cannot create a temporary ") +
                      (kind == TemporaryKind::file ? "file" : "folder") + " in the directory " +
                      folder.string() + " (" + std::generic_category().message(code) + ")");
}

Temporary::~Temporary() {
  if (!renamed_) remove_all(name_);
}

void Temporary::rename_to(const std::string& path) {
  if (::rename(name_.c_str(), path.c_str()) != 0) {
    const int code = errno;
    throw FileError(
        path, -1, "cannot replace the file (" + std::generic_category().message(code) + ")");
  }
  renamed_ = true;
}

bool Temporary::rename_to_free(const std::string& path) {
  if (::rename(name_.c_str(), path.c_str()) == 0) return renamed_ = true;
  const int code = errno;
  if (code == ENOTEMPTY || code == EEXIST) return false;
  throw FileError(path_, -1, "cannot be made (" + std::generic_category().message(code) + ")");
}

void Temporary::exchange_with(const std::string& path) {
  for (;;) {
    old_ = Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (old_.get() < 0) fail_to_replace(errno);
    lock(old_.get());  // or the old folder would be a dead one's, under the name that it gets
    if (!is_name_of(path, old_.get())) continue;  // another writer has replaced it meanwhile
    return exchange_names(path);
  }
}

void Temporary::exchange_names(const std::string& path) const {
  if (::renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) != 0)
    fail_to_replace(errno);
}

void Temporary::fail_to_replace(int code) const {
  const char* remedy =
      code == EINVAL || code == ENOSYS
          ? "; this file system does not exchange two folders in one step, so give "
            "a path where there is nothing yet"
          : "";
  throw FileError(
      path_,
      -1,
      "cannot replace the folder (" + std::generic_category().message(code) + ")" + remedy);
}

}  // namespace tandem::detail
