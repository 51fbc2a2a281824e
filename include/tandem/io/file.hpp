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

/// Owns a file descriptor; -1 is none.
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

}  // namespace detail

/// A regular file open for reading at absolute positions.
///
/// Reads with pread, never by mapping, so a file that shrinks meanwhile is an error and no signal;
/// a file that is replaced meanwhile is read on as it was. Thread-safe.
class FileReader {
 public:
  /// @throws FileError  missing, not readable, or not a regular file (a directory, a FIFO, a
  /// device).
  explicit FileReader(const std::string& path);

  const std::string& path() const noexcept { return path_; }
  /// Bytes in the file when it was opened.
  std::uint64_t size() const noexcept { return size_; }
  /// Fills `out` from the bytes that begin at `offset`.
  ///
  /// @throws FileError  the file ends before `out` is full, or the system reports an error; has the
  /// offset.
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  detail::Descriptor file_;
  std::uint64_t size_ = 0;
};

/// Takes the new content of a file while write_atomically runs.
class FileWriter {
 public:
  /// Appends `bytes`.
  ///
  /// @throws FileError  the system refuses (no space, quota, size limit); has the offset.
  void write(std::span<const std::byte> bytes);
  /// Replaces appended bytes, from `offset` on. @throws FileError  as write.
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Bytes appended so far.
  std::uint64_t written() const noexcept { return written_; }

  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

 private:
  friend void write_atomically(const std::string&, const std::function<void(FileWriter&)>&);
  FileWriter(const std::string& path, int fd) : path_(path), fd_(fd) {}

  const std::string& path_;
  int fd_;
  std::uint64_t written_ = 0;
};

/// Replaces the file at `path` by what `fill` writes, as one step: a reader, and a machine that
/// loses power, sees the old content or the new, never a part.
///
/// Writes a temporary in the same directory, then fsync, rename, and fsync of the directory. A link
/// is followed; an existing file keeps its permissions (but for set-uid bits), and its owner and
/// group as far as the system lets us. Temporaries that a killed program has left in the directory
/// are removed. Thread-safe: of two writers to one path the last wins.
///
/// @throws FileError  the directory is missing or read-only, `path` names something that is not a
///                    regular file or is write-protected (mode 0444), or the system refuses a
///                    write. The old file is as it was and the
///                    temporary is gone; only when the last step fails (and the text says so) is
///                    the new content in place. What `fill` throws passes through, with the same
///                    guarantee.
void write_atomically(const std::string& path, const std::function<void(FileWriter&)>& fill);

/// Finds out whether write_atomically could replace `path`, and leaves no trace of it.
///
/// @throws FileError  as write_atomically would, before it writes.
void check_replaceable(const std::string& path);

/// As above; the content is `parts`, one after the other.
void write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts);

}  // namespace tandem
