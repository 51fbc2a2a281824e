// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/dtype.hpp"
#include "tandem/core/shape.hpp"
#include "tandem/io/file.hpp"

namespace tandem {

/// Free text that a safetensors file carries beside its tensors.
using SafetensorsMetadata = std::map<std::string, std::string>;

/// Whether a file gets a checksum of its content, or is compared with the one that it has.
enum class Checksum : std::uint8_t { no, yes };

/// Where one tensor lies in a safetensors file.
struct SafetensorsEntry {
  std::string name;
  /// What read_tensor gives: the stored type, or one that holds all its numbers (I8, I16, U16: i32;
  /// U32, U64: i64; F8: f32). u8 where tandem cannot read the type.
  DType dtype = DType::f32;
  Shape shape = {};
  /// Of the first byte, counted from the start of the file.
  std::uint64_t offset = 0;
  std::size_t nbytes = 0;
  /// The format's name of the type: "I16".
  std::string stored = "F32";
};

/// A safetensors file open for reading: its header is read and checked, its tensors are read when
/// asked for.
///
/// Stricter than the reference reader, which accepts duplicate keys, unknown fields, null for the
/// metadata, white space other than blanks around the header, and a bool other than 0 and 1. At
/// most kMaxDims dimensions. A file of any of the format's types can be opened; tensors of C64, F4,
/// F6 and the FNUZ kinds of F8 cannot be read as tensors. Thread-safe.
///
/// @source https://github.com/huggingface/safetensors, README, section "Format".
class SafetensorsFile {
 public:
  /// @throws FileError  missing file; header of more than 100,000,000 bytes or beyond the file's
  /// end; JSON that is
  ///                    not of the format; an unknown dtype; tensors that overlap, leave holes, or
  ///                    do not end with the file. Has the offset. Memory is taken in proportion to
  ///                    the header's real size.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const noexcept { return file_.path(); }
  const SafetensorsMetadata& metadata() const noexcept { return metadata_; }
  /// In the order of their bytes in the file.
  const std::vector<SafetensorsEntry>& entries() const noexcept { return entries_; }
  /// The tensor called `name`; nullptr where there is none.
  ///
  /// @cost   logarithmic in the number of tensors.
  const SafetensorsEntry* find(std::string_view name) const noexcept;
  /// Reads the bytes of `entry`, of its stored type, row-major and little endian, into `out`.
  ///
  /// @param out  exactly `entry.nbytes` bytes of host memory.
  /// @throws InvalidArgument  `out` has another size.
  /// @throws FileError        the file has shrunk since, the system reports an error, or a bool is
  /// neither 0 nor 1.
  void read(const SafetensorsEntry& entry, std::span<std::byte> out) const;
  /// Compares the file with its checksum, where save_safetensors gave it one.
  ///
  /// @throws FileError  the content is not what was written; the text has both sums.
  /// @cost   reads the whole file, a piece at a time.
  void check_content() const;

 private:
  FileReader file_;
  SafetensorsMetadata metadata_;
  std::vector<SafetensorsEntry> entries_;
  std::vector<std::size_t> by_name_;  // of entries_, in the order of their names
};

/// One tensor to be written, with its bytes in host memory (row-major; not owned).
struct SafetensorsItem {
  std::string name;
  DType dtype = DType::f32;
  Shape shape = {};
  std::span<const std::byte> bytes = {};
};

/// Writes `items` and `metadata` to `path` by write_atomically.
///
/// The order in the file is the reference writer's: by dtype (I64, F64, F32, I32, BF16, F16, U8,
/// BOOL), then by name; with the header padded to eight bytes this keeps every tensor aligned.
/// Equal input gives equal files.
///
/// @throws InvalidArgument  a name twice or "__metadata__", text that is not UTF-8, bytes that do
/// not match
///                          dtype and shape, or a header above 100,000,000 bytes.
/// @throws FileError        as write_atomically.
void write_safetensors(const std::string& path,
                       std::span<const SafetensorsItem> items,
                       const SafetensorsMetadata& metadata = {});

}  // namespace tandem
