// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/io/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

#include "io/content_sum.hpp"
#include "io/safetensors_header.hpp"

namespace tandem {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors is little endian; this machine would need a swap");

constexpr std::uint64_t kPrefix = 8;                  // the header's size in 64 bits
constexpr std::size_t kPiece = std::size_t{1} << 20;  // bytes that a check reads at a time

std::string read_header_text(const FileReader& file) {
  std::uint64_t size = 0;
  if (file.size() < kPrefix) {
    throw FileError(
        file.path(),
        0,
        detail::concat("not a safetensors file: ", file.size(), " bytes, at least 8 are needed"));
  }
  file.read_at(0, std::as_writable_bytes(std::span(&size, 1)));
  if (size > detail::kSafetensorsMostHeader) {
    throw FileError(file.path(),
                    0,
                    detail::concat("not a safetensors file: a header of ",
                                   size,
                                   " bytes, at most ",
                                   detail::kSafetensorsMostHeader,
                                   " are allowed"));
  }
  if (size < 2 || size > file.size() - kPrefix) {
    throw FileError(
        file.path(),
        0,
        detail::concat(
            "safetensors: a header of ", size, " bytes does not fit into ", file.size()));
  }
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read_at(kPrefix, std::as_writable_bytes(std::span(text)));
  return text;
}

/// Every byte after the header belongs to exactly one tensor.
void check_layout(const std::vector<detail::HeaderTensor>& tensors,
                  const FileReader& file,
                  std::uint64_t data) {
  std::uint64_t expected = 0;
  for (const detail::HeaderTensor& t : tensors) {
    if (t.begin != expected) {
      throw FileError(
          file.path(),
          static_cast<std::int64_t>(data + std::min(t.begin, expected)),
          detail::concat("safetensors: tensor '",
                         t.name,
                         "' begins at ",
                         t.begin,
                         " of the data, ",
                         t.begin < expected ? "inside the one before" : "with a hole before it",
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
                                   " bytes of data, the file has ",
                                   file.size() - data));
  }
}

/// The reference writer's order: wide types first, so that each tensor is aligned to its type.
int place(const detail::StoredType& type) {
  constexpr std::array kOrder{DType::i64,
                              DType::f64,
                              DType::f32,
                              DType::i32,
                              DType::bf16,
                              DType::f16,
                              DType::u8,
                              DType::boolean};
  return static_cast<int>(std::ranges::find(kOrder, type.held) - kOrder.begin());
}

/// Indices of `tensors` in the order of the file.
std::vector<std::size_t> file_order(const std::vector<detail::HeaderTensor>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::tuple<int, const std::string&>(place(tensors[i].type), tensors[i].name);
  });
  return order;
}

/// Where the digits of the checksum begin in a header's text; npos: nowhere.
///
/// In a name or in other metadata these quotes would be escaped.
std::size_t digits_of(std::string_view text) {
  const std::string key = std::string("\"") + detail::kSafetensorsSumKey + "\":\"";
  const std::size_t at = text.find(key);
  return at == std::string_view::npos ? at : at + key.size();
}

/// Writes, and counts what it writes into a sum.
class SummedWriter {
 public:
  SummedWriter(FileWriter& file, Checksum checksum) : file_(file), checksum_(checksum) {}

  void write(std::span<const std::byte> bytes) {
    file_.write(bytes);
    if (checksum_ == Checksum::yes) sum_.add(bytes);
  }
  /// Puts the sum's digits over the zeros at `offset`.
  void note_sum(std::uint64_t offset) {
    const std::string digits = sum_.digits();
    file_.overwrite(offset, std::as_bytes(std::span(digits)));
  }

 private:
  FileWriter& file_;
  Checksum checksum_;
  detail::ContentSum sum_;
};

void check_names(const std::vector<detail::HeaderTensor>& tensors) {
  std::set<std::string_view> seen{detail::kSafetensorsMetadataKey};
  for (const detail::HeaderTensor& t : tensors) {
    TANDEM_CHECK(seen.insert(t.name).second,
                 "safetensors: the name '",
                 t.name,
                 "' is reserved or stands twice; rename the tensor");
  }
}

/// The tensors in the order of the file, each behind the one before.
std::vector<detail::HeaderTensor> laid_out(std::vector<detail::HeaderTensor>& tensors,
                                           const std::vector<std::size_t>& order) {
  std::vector<detail::HeaderTensor> all;
  std::uint64_t offset = 0;
  for (const std::size_t i : order) {
    detail::HeaderTensor& t = tensors[i];
    const std::optional<std::uint64_t> nbytes = detail::stored_nbytes(t.type, t.shape);
    TANDEM_CHECK(
        nbytes, "safetensors: shape ", t.shape, " of tensor '", t.name, "' overflows 63 bits");
    t.begin = offset;
    t.end = offset += *nbytes;
    all.push_back(t);
  }
  return all;
}

/// `metadata` without another file's checksum, with zeros for the digits of this one's.
SafetensorsMetadata with_sum(SafetensorsMetadata metadata, Checksum checksum) {
  metadata.erase(detail::kSafetensorsSumKey);
  if (checksum == Checksum::yes)
    metadata[detail::kSafetensorsSumKey] = std::string(detail::ContentSum::kDigits, '0');
  return metadata;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
  const std::string text = read_header_text(file_);
  const std::uint64_t data = kPrefix + text.size();
  detail::Header header = detail::parse_header(text, path, kPrefix);
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
               " bytes, the buffer ",
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
  const std::size_t at = digits_of(text);
  if (at != std::string::npos && text.size() - at > detail::ContentSum::kDigits)
    text.replace(at, detail::ContentSum::kDigits, detail::ContentSum::kDigits, '0');
  detail::ContentSum sum;
  sum.add(std::as_bytes(std::span(&size, 1)));
  sum.add(std::as_bytes(std::span(text)));
  std::vector<std::byte> piece(kPiece);
  for (std::uint64_t offset = kPrefix + size; offset < file_.size(); offset += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, file_.size() - offset)));
    file_.read_at(offset, piece);
    sum.add(piece);
  }
  if (sum.digits() == noted->second) return;
  throw FileError(file_.path(),
                  -1,
                  detail::concat("the content is not what was written: its checksum is ",
                                 sum.digits(),
                                 ", it was ",
                                 noted->second,
                                 "; the file is damaged, or another program has rewritten it (then "
                                 "load it with Checksum::no)"));
}

namespace detail {

void write_safetensors(const std::string& path,
                       std::vector<HeaderTensor> tensors,
                       const SafetensorsMetadata& metadata,
                       const std::function<std::span<const std::byte>(std::size_t)>& bytes,
                       Checksum checksum) {
  check_names(tensors);
  const std::vector<std::size_t> order = file_order(tensors);
  const Header header{with_sum(metadata, checksum), laid_out(tensors, order)};
  const std::string text = format_header(header);
  const std::uint64_t size = text.size();
  TANDEM_CHECK(size <= kSafetensorsMostHeader,
               "safetensors: a header of ",
               size,
               " bytes, at most ",
               kSafetensorsMostHeader,
               " are allowed; write fewer tensors to a file");
  write_atomically(path, [&](FileWriter& file) {
    SummedWriter out(file, checksum);
    out.write(std::as_bytes(std::span(&size, 1)));
    out.write(std::as_bytes(std::span(text)));
    for (const std::size_t i : order) {
      const std::span<const std::byte> content = bytes(i);
      TANDEM_CHECK(content.size() == tensors[i].end - tensors[i].begin,
                   "safetensors: tensor '",
                   tensors[i].name,
                   "' is ",
                   tensors[i].type.name,
                   ' ',
                   tensors[i].shape,
                   " and takes ",
                   tensors[i].end - tensors[i].begin,
                   " bytes, but ",
                   content.size(),
                   " were given");
      out.write(content);
    }
    if (checksum == Checksum::yes) out.note_sum(kPrefix + digits_of(text));
  });
}

}  // namespace detail

void write_safetensors(const std::string& path,
                       std::span<const SafetensorsItem> items,
                       const SafetensorsMetadata& metadata) {
  std::vector<detail::HeaderTensor> tensors;
  for (const SafetensorsItem& item : items) {
    tensors.push_back(
        {.name = item.name, .type = detail::stored_type(item.dtype), .shape = item.shape});
  }
  detail::write_safetensors(
      path, std::move(tensors), metadata, [items](std::size_t i) { return items[i].bytes; });
}

}  // namespace tandem
