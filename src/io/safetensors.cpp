// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/io/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

#include "io/content_sum.hpp"
#include "io/safetensors_header.hpp"
#include "io/safetensors_writer.hpp"

namespace tandem {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors is little endian; this machine would need a swap");

constexpr std::size_t kPiece = std::size_t{1} << 20;  // bytes that a check reads at a time

std::string read_header_text(const FileReader& file) {
  std::uint64_t size = 0;
  if (file.size() < detail::kSafetensorsPrefix) {
    throw FileError(
        file.path(),
        0,
        detail::concat(
            "not a safetensors file: it has ", file.size(), " bytes, but at least 8 are needed"));
  }
  file.read_at(0, std::as_writable_bytes(std::span(&size, 1)));
  if (size > detail::kSafetensorsMostHeader) {
    throw FileError(file.path(),
                    0,
                    detail::concat("not a safetensors file: its header has ",
                                   size,
                                   " bytes, but at most ",
                                   detail::kSafetensorsMostHeader,
                                   " are allowed"));
  }
  if (size < 2 || size > file.size() - detail::kSafetensorsPrefix) {
    throw FileError(file.path(),
                    0,
                    detail::concat("safetensors: a header of ",
                                   size,
                                   " bytes does not fit into the file's ",
                                   file.size(),
                                   " bytes"));
  }
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read_at(detail::kSafetensorsPrefix, std::as_writable_bytes(std::span(text)));
  return text;
}

/// Every byte after the header belongs to exactly one tensor.
void check_layout(const std::vector<detail::HeaderTensor>& tensors,
                  const FileReader& file,
                  std::uint64_t data) {
  std::uint64_t expected = 0;
  for (const detail::HeaderTensor& t : tensors) {
    if (t.begin != expected) {
      throw FileError(file.path(),
                      static_cast<std::int64_t>(data + std::min(t.begin, expected)),
                      detail::concat("safetensors: tensor '",
                                     t.name,
                                     "' begins at byte ",
                                     t.begin,
                                     " of the data, ",
                                     t.begin < expected ? "inside the tensor before it"
                                                        : "with a gap before it",
                                     "; expected ",
                                     expected));
    }
    expected = t.end;
  }
  if (expected != file.size() - data) {
    throw FileError(file.path(),
                    static_cast<std::int64_t>(file.size()),
                    detail::concat("safetensors: the header describes ",
                                   expected,
                                   " bytes of data, but the file has ",
                                   file.size() - data));
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
  const std::string text = read_header_text(file_);
  const std::uint64_t data = detail::kSafetensorsPrefix + text.size();
  detail::Header header = detail::parse_header(text, path, detail::kSafetensorsPrefix);
  std::ranges::sort(
      header.tensors, {}, [](const detail::HeaderTensor& t) { return std::pair(t.begin, t.end); });
  check_layout(header.tensors, file_, data);
  metadata_ = std::move(header.metadata);
  entries_.reserve(header.tensors.size());
  for (detail::HeaderTensor& t : header.tensors) {
    entries_.push_back({.name = std::move(t.name),
                        .dtype = t.type.held.value_or(DType::u8),
                        .shape = t.shape,
                        .offset = data + t.begin,
                        .nbytes = static_cast<std::size_t>(t.end - t.begin),
                        .stored = std::string(t.type.name)});
  }
  by_name_.resize(entries_.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::ranges::sort(
      by_name_, {}, [this](std::size_t i) -> std::string_view { return entries_[i].name; });
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const noexcept {
  const auto name_of = [this](std::size_t i) -> std::string_view { return entries_[i].name; };
  const auto hit = std::ranges::lower_bound(by_name_, name, {}, name_of);
  return hit == by_name_.end() || name_of(*hit) != name ? nullptr : &entries_[*hit];
}

void SafetensorsFile::read(const SafetensorsEntry& entry, std::span<std::byte> out) const {
  TANDEM_CHECK(out.size() == entry.nbytes,
               "SafetensorsFile::read: tensor '",
               entry.name,
               "' has ",
               entry.nbytes,
               " bytes, but the buffer has ",
               out.size());
  file_.read_at(entry.offset, out);
  if (entry.stored != "BOOL") return;
  const auto bad = std::ranges::find_if(out, [](std::byte b) { return b > std::byte{1}; });
  if (bad == out.end()) return;
  throw FileError(file_.path(),
                  static_cast<std::int64_t>(entry.offset) + (bad - out.begin()),
                  detail::concat("safetensors: tensor '",
                                 entry.name,
                                 "' is BOOL, but holds the byte ",
                                 std::to_integer<int>(*bad),
                                 "; only 0 and 1 are allowed"));
}

void SafetensorsFile::check_content() const {
  const auto noted = metadata_.find(detail::kSafetensorsSumKey);
  if (noted == metadata_.end()) return;
  std::string text = read_header_text(file_);
  const std::uint64_t size = text.size();
  const std::size_t at = detail::sum_digits_at(text);
  if (at != std::string::npos && text.size() - at > detail::ContentSum::kDigits)
    text.replace(at, detail::ContentSum::kDigits, detail::ContentSum::kDigits, '0');
  detail::ContentSum sum;
  sum.add(std::as_bytes(std::span(&size, 1)));
  sum.add(std::as_bytes(std::span(text)));
  std::vector<std::byte> piece(kPiece);
  for (std::uint64_t offset = detail::kSafetensorsPrefix + size; offset < file_.size();
       offset += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, file_.size() - offset)));
    file_.read_at(offset, piece);
    sum.add(piece);
  }
  if (sum.digits() == noted->second) return;
  throw FileError(
      file_.path(),
      -1,
      detail::concat("the content is not what was written: its checksum is ",
                     sum.digits(),
                     ", but it was ",
                     noted->second,
                     "; the file is damaged, or another program has rewritten it (in that case "
                     "load it with Checksum::no)"));
}

void write_safetensors(const std::string& path,
                       std::span<const SafetensorsItem> items,
                       const SafetensorsMetadata& metadata) {
  std::vector<detail::HeaderTensor> tensors;
  for (const SafetensorsItem& item : items) {
    tensors.push_back(
        {.name = item.name, .type = detail::stored_type(item.dtype), .shape = item.shape});
  }
  detail::write_safetensors(
      path, tensors, metadata, [items](std::size_t i) { return items[i].bytes; });
}

}  // namespace tandem
