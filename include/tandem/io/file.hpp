// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace tandem {

namespace detail {

/// Owns a file descriptor; -1 means none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

class FolderWriter;

}  // namespace detail

/// A regular file open for reading at absolute positions.
///
/// It reads with pread and never maps the file, so a file that shrinks meanwhile gives an error and
/// not a signal. If the file is replaced meanwhile, the old content is still read. Thread-safe.
class FileReader {
 public:
  /// @throws FileError  if the file is missing, cannot be read, or is not a regular file (but a
  ///                    directory, a FIFO or a device).
  explicit FileReader(const std::string& path);

  const std::string& path() const noexcept { return path_; }
  /// The number of bytes in the file when it was opened.
  std::uint64_t size() const noexcept { return size_; }
  /// Fills `out` with the bytes that begin at `offset`.
  ///
  /// @throws FileError  if the file ends before `out` is full, or the system reports an error. The
  ///                    error has the offset.
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  detail::Descriptor file_;
  std::uint64_t size_ = 0;
};

/// Takes the new content of a file while it is written.
class FileWriter {
 public:
  /// Appends `bytes`.
  ///
  /// @throws FileError  if the system refuses (no space, quota, size limit). The error has the
  ///                    offset.
  void write(std::span<const std::byte> bytes);
  /// Replaces bytes that have been appended, from `offset` on.
  ///
  /// @throws InvalidArgument  if some of these bytes have not been appended.
  /// @throws FileError        as write.
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes);
  /// The number of bytes appended so far.
  std::uint64_t written() const noexcept { return written_; }

  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

 private:
  friend class detail::FolderWriter;
  friend void write_atomically(const std::string&, const std::function<void(FileWriter&)>&);
  FileWriter(const std::string& path, int fd) : path_(path), fd_(fd) {}

  const std::string& path_;
  int fd_;
  std::uint64_t written_ = 0;
};

/// Replaces the content of the file at `path` with what `fill` writes, in one step. A reader sees
/// the old content or the new one, never a part, and so does a machine after a power failure.
///
/// Writes a temporary file in the same directory, then does fsync, rename, and fsync of the
/// directory. A link is followed. An existing file keeps its permissions, except set-uid bits, and
/// also its owner and group if the system allows that. Temporary files that a killed program has
/// left in the directory are removed. Thread-safe: of two writers to one path, the last one wins.
///
/// @throws FileError  if the directory is missing or read-only, `path` names something that is not
///                    a regular file or is write-protected for everybody (mode 0444), or the system
///                    refuses a write. The old file is unchanged and the temporary file is gone.
///                    The new content is in place only if the last step fails; the message says so.
/// @throws  what `fill` throws, with the same guarantee.
void write_atomically(const std::string& path, const std::function<void(FileWriter&)>& fill);

/// Finds out whether write_atomically could replace `path`, and leaves no trace.
///
/// @throws FileError  as write_atomically would before it writes.
void check_replaceable(const std::string& path);

/// Like the other write_atomically; the content is `parts`, one after the other.
void write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts);

}  // namespace tandem
