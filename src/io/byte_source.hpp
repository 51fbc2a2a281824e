// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tandem/io/file.hpp"

namespace tandem::detail {

/// Bytes in order, from a plain or a gzip file.
class ByteSource {
 public:
  explicit ByteSource(FileReader file) : file_(std::move(file)) {}
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fills `out` or throws FileError: the data ends too early.
  virtual void read(std::span<std::byte> out) = 0;
  /// The next `count` bytes. Memory is taken as they come: a gzip file of 4 MB may promise 4 GiB,
  /// and hold nothing of the kind. Throws FileError as read, and where there is no memory for them.
  std::vector<std::byte> read_many(std::size_t count);
  /// Throws FileError unless all data was read (and, for gzip, its checksum is right).
  virtual void expect_end() = 0;
  /// No more than this many bytes can come in total.
  virtual std::uint64_t most() const = 0;

  /// Throws FileError for the content at `position`, counted in the bytes that read() gives.
  [[noreturn]] void fail(std::uint64_t position, const std::string& problem) const;

 protected:
  /// How fail() explains its position; empty where positions are the file's.
  virtual const char* position_note() const { return ""; }

  FileReader file_;
};

/// Opens `path`; gzip is told by its first bytes.
std::unique_ptr<ByteSource> open_source(const std::string& path);

}  // namespace tandem::detail
