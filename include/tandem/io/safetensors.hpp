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

/// Free text that a safetensors file carries in addition to its tensors.
using SafetensorsMetadata = std::map<std::string, std::string>;

/// Whether to write a checksum of a file's content, or to compare the content with its checksum.
enum class Checksum : std::uint8_t { no, yes };

/// Where one tensor lies in a safetensors file.
struct SafetensorsEntry {
  std::string name;
  /// The dtype that read_tensor gives: the stored type, or one that holds all its numbers (i32 for
  /// I8, I16 and U16; i64 for U32 and U64; f32 for F8). It is u8 if tandem cannot read the type.
  DType dtype = DType::f32;
  Shape shape = {};
  /// Position of the first byte, counted from the start of the file.
  std::uint64_t offset = 0;
  std::size_t nbytes = 0;
  /// The format's name of the stored type, for example "I16".
  std::string stored = "F32";
};

/// A safetensors file that is open for reading. The header is read and checked at once; tensors are
/// read on request.
///
/// This reader is stricter than the reference reader, which accepts duplicate keys, unknown fields,
/// null for the metadata, white space other than blanks around the header, and a bool other than 0
/// and 1. A tensor has at most kMaxDims dimensions. Files with all of the format's types can be
/// opened, but C64, F4, F6 and the FNUZ kinds of F8 cannot be read as tensors. Thread-safe.
///
/// @source https://github.com/huggingface/safetensors, README, section "Format".
class SafetensorsFile {
 public:
  /// @throws FileError  if the file is missing, the header has more than 100,000,000 bytes or
  ///                    reaches beyond the file's end, its JSON does not follow the format, a dtype
  ///                    is unknown, or the tensors overlap, leave holes, or do not end with the
  ///                    file. The error has the offset.
  /// @cost   Memory in proportion to the real size of the header.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const noexcept { return file_.path(); }
  const SafetensorsMetadata& metadata() const noexcept { return metadata_; }
  /// The tensors, in the order of their bytes in the file.
  const std::vector<SafetensorsEntry>& entries() const noexcept { return entries_; }
  /// The tensor called `name`, or nullptr.
  ///
  /// @cost   Logarithmic in the number of tensors.
  const SafetensorsEntry* find(std::string_view name) const noexcept;
  /// Reads the bytes of `entry` into `out`, in the stored type, row-major and little endian.
  ///
  /// @param out  exactly `entry.nbytes` bytes of host memory
  /// @throws InvalidArgument  if `out` has another size.
  /// @throws FileError        if the file has shrunk, the system reports an error, or a bool is
  ///                          neither 0 nor 1.
  void read(const SafetensorsEntry& entry, std::span<std::byte> out) const;
  /// Compares the file with the checksum that save_safetensors has written. Does nothing if the
  /// file has none.
  ///
  /// @throws FileError  if the content is not what was written; the message has both sums.
  /// @cost   Reads the whole file, a piece at a time.
  void check_content() const;

 private:
  FileReader file_;
  SafetensorsMetadata metadata_;
  std::vector<SafetensorsEntry> entries_;
  std::vector<std::size_t> by_name_;  // indices into entries_, in the order of names
};

/// A tensor to be written. Its bytes are in host memory, row-major, and not owned.
struct SafetensorsItem {
  std::string name;
  DType dtype = DType::f32;
  Shape shape = {};
  std::span<const std::byte> bytes = {};
};

/// Writes `items` and `metadata` to `path` by write_atomically.
///
/// The order in the file is the reference writer's: by dtype (I64, F64, F32, I32, BF16, F16, U8,
/// BOOL), then by name. Because the header is padded to eight bytes, every tensor is aligned. Equal
/// input gives equal files.
///
/// @throws InvalidArgument  if a name occurs twice or is "__metadata__", text is not UTF-8, bytes
///                          do not match dtype and shape, or the header has more than 100,000,000
///                          bytes.
/// @throws FileError        as write_atomically.
void write_safetensors(const std::string& path,
                       std::span<const SafetensorsItem> items,
                       const SafetensorsMetadata& metadata = {});

}  // namespace tandem
