// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "io/safetensors_writer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "tandem/core/check.hpp"
#include "tandem/io/file.hpp"

#include "io/content_sum.hpp"

namespace tandem::detail {
namespace {

/// The reference writer's order: wide types first, so that each tensor is aligned to its type.
int order_of(const StoredType& type) {
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
std::vector<std::size_t> file_order(const std::vector<HeaderTensor>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::tuple<int, const std::string&>(order_of(tensors[i].type), tensors[i].name);
  });
  return order;
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
  ContentSum sum_;
};

void check_names(const std::vector<HeaderTensor>& tensors) {
  std::set<std::string_view> seen{kSafetensorsMetadataKey};
  for (const HeaderTensor& t : tensors) {
    TANDEM_CHECK(seen.insert(t.name).second,
                 "safetensors: the name '",
                 t.name,
                 "' is reserved or appears twice; rename the tensor");
  }
}

/// The tensors in the order of the file, each behind the one before.
std::vector<HeaderTensor> laid_out(std::vector<HeaderTensor>& tensors,
                                   const std::vector<std::size_t>& order) {
  std::vector<HeaderTensor> all;
  std::uint64_t offset = 0;
  for (const std::size_t i : order) {
    HeaderTensor& t = tensors[i];
    const std::optional<std::uint64_t> nbytes = stored_nbytes(t.type, t.shape);
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
  metadata.erase(kSafetensorsSumKey);
  if (checksum == Checksum::yes)
    metadata[kSafetensorsSumKey] = std::string(ContentSum::kDigits, '0');
  return metadata;
}

}  // namespace

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
               "safetensors: the header would have ",
               size,
               " bytes, but at most ",
               kSafetensorsMostHeader,
               " are allowed; write fewer tensors to one file");
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
    if (checksum == Checksum::yes) out.note_sum(kSafetensorsPrefix + sum_digits_at(text));
  });
}

}  // namespace tandem::detail
