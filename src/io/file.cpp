// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/io/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

#include "io/system_calls.hpp"
#include "io/temporary.hpp"

namespace tandem {
namespace {

using detail::Temporary;
namespace fs = std::filesystem;

constexpr std::size_t kMostPerCall = std::size_t{1}
                                     << 30;  // Linux moves at most 2 GiB - 4 KiB in one call
constexpr const char* kCannotWrite = "cannot write; the old file is unchanged";

/// Permissions of the regular file at `path`, nothing where there is no file yet.
std::optional<mode_t> old_mode(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return std::nullopt;
    detail::fail_by_system(path, -1, "cannot read the status of the file to be replaced", errno);
  }
  if (!S_ISREG(info.st_mode)) {
    throw FileError(
        path,
        -1,
        "is not a regular file and will not be replaced; name a file, not a directory or device");
  }
  if ((info.st_mode & 0222) == 0) {
    throw FileError(
        path,
        -1,
        "is write-protected for everybody and will not be replaced; make it writable (chmod u+w), "
        "or name another file");
  }
  return info.st_mode & 0777;  // no set-uid for what a program has written
}

/// Gives the new file the owner and the group of the one at `path`, as far as the system lets us.
void keep_owner(const std::string& path, int fd) {
  struct stat old {
  }, fresh{};
  if (::stat(path.c_str(), &old) != 0 || ::fstat(fd, &fresh) != 0) return;
  if (old.st_gid != fresh.st_gid && ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0) return;
  if (old.st_uid != fresh.st_uid && ::fchown(fd, old.st_uid, static_cast<gid_t>(-1)) != 0) return;
}

/// Where new content goes.
struct Place {
  std::string target;  ///< of links
  std::optional<mode_t> mode;
  fs::path folder;
  detail::Descriptor directory;  ///< opened first: after the rename there is no way back
};

Place place_of(const std::string& path) {
  detail::check_path(path);
  Place place;
  place.target = detail::follow_link(path);
  place.mode = old_mode(place.target);
  const fs::path parent = fs::path(place.target).parent_path();
  place.folder = parent.empty() ? fs::path(".") : parent;
  place.directory = detail::open_directory(path, place.folder);
  if (place.mode) detail::check_owner(path, place.target, place.folder);
  return place;
}

}  // namespace

namespace detail {

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace detail

FileReader::FileReader(const std::string& path) : path_(path) {
  detail::check_path(path);
  // O_NONBLOCK: opening a FIFO without a writer would wait for ever; it is refused just below.
  file_ = detail::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file_.get() < 0) detail::fail_by_system(path, -1, "cannot open the file", errno);
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0)
    detail::fail_by_system(path, -1, "cannot read the file's status", errno);
  if (!S_ISREG(info.st_mode)) throw FileError(path, -1, "is not a regular file");
  size_ = static_cast<std::uint64_t>(info.st_size);
}

void FileReader::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t n = ::pread(
        file_.get(), out.data(), std::min(out.size(), kMostPerCall), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    const auto at = static_cast<std::int64_t>(offset);
    if (n < 0) detail::fail_by_system(path_, at, "cannot read", errno);
    if (n == 0)
      throw FileError(
          path_, at, "the file ends here, " + std::to_string(out.size()) + " bytes too early");
    out = out.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

void FileWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), std::min(bytes.size(), kMostPerCall));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      detail::fail_by_system(path_, static_cast<std::int64_t>(written_), kCannotWrite, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    written_ += static_cast<std::uint64_t>(n);
  }
}

void FileWriter::overwrite(std::uint64_t offset, std::span<const std::byte> bytes) {
  TANDEM_CHECK(offset <= written_ && bytes.size() <= written_ - offset,
               "FileWriter::overwrite: ",
               bytes.size(),
               " bytes from ",
               offset,
               " on go beyond the ",
               written_,
               " bytes written so far");
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      detail::fail_by_system(path_, static_cast<std::int64_t>(offset), kCannotWrite, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

void check_replaceable(const std::string& path) {
  const Place place = place_of(path);
  const Temporary temporary(path, place.folder);
}

void write_atomically(const std::string& path, const std::function<void(FileWriter&)>& fill) {
  const Place place = place_of(path);
  Temporary temporary(path, place.folder);
  if (place.mode && ::fchmod(temporary.fd(), *place.mode) != 0)
    detail::fail_by_system(path, -1, "cannot keep the file's permissions", errno);
  FileWriter writer(path, temporary.fd());
  fill(writer);
  keep_owner(path, temporary.fd());
  detail::sync_content(path, temporary.fd());
  temporary.rename_to(place.target);
  detail::sync_rename(path, place.directory.get());
}

void write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  write_atomically(path, [parts](FileWriter& out) {
    for (const std::span<const std::byte> part : parts)
      out.write(part);
  });
}

}  // namespace tandem
