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

void check_names(const std::vector<HeaderTensor>& tensors) {
  std::set<std::string_view> seen{kSafetensorsMetadataKey};
  for (const HeaderTensor& t : tensors) {
    TANDEM_CHECK(seen.insert(t.name).second,
                 "safetensors: the name '",
                 t.name,
                 "' is reserved or appears twice; rename the tensor");
  }
}

/// Sets their offsets, each behind the one before.
void lay_out(std::vector<HeaderTensor>& tensors) {
  std::uint64_t offset = 0;
  for (HeaderTensor& t : tensors) {
    const std::optional<std::uint64_t> nbytes = stored_nbytes(t.type, t.shape);
    TANDEM_CHECK(
        nbytes, "safetensors: shape ", t.shape, " of tensor '", t.name, "' overflows 63 bits");
    t.begin = offset;
    t.end = offset += *nbytes;
  }
}

/// `metadata` without another file's checksum, with zeros for the digits of this one's.
SafetensorsMetadata with_sum(SafetensorsMetadata metadata, Checksum checksum) {
  metadata.erase(kSafetensorsSumKey);
  if (checksum == Checksum::yes)
    metadata[kSafetensorsSumKey] = std::string(ContentSum::kDigits, '0');
  return metadata;
}

}  // namespace

SafetensorsPlan::SafetensorsPlan(std::vector<HeaderTensor> in_order,
                                 const SafetensorsMetadata& metadata,
                                 Checksum sum)
    : checksum(sum) {
  check_names(in_order);
  lay_out(in_order);
  Header whole{with_sum(metadata, checksum), std::move(in_order)};
  header = format_header(whole);
  tensors = std::move(whole.tensors);
  TANDEM_CHECK(header.size() <= kSafetensorsMostHeader,
               "safetensors: the header would have ",
               header.size(),
               " bytes, but at most ",
               kSafetensorsMostHeader,
               " are allowed; write fewer tensors to one file");
}

SafetensorsStream::SafetensorsStream(FileWriter& file, const SafetensorsPlan& plan)
    : file_(file), plan_(plan) {
  const std::uint64_t size = plan.header.size();
  write(std::as_bytes(std::span(&size, 1)));
  write(std::as_bytes(std::span(plan.header)));
}

void SafetensorsStream::write(std::span<const std::byte> bytes) {
  file_.write(bytes);
  if (plan_.checksum == Checksum::yes) sum_.add(bytes);
}

void SafetensorsStream::add(std::span<const std::byte> content) {
  const HeaderTensor& t = plan_.tensors.at(next_++);
  TANDEM_CHECK(content.size() == t.end - t.begin,
               "safetensors: tensor '",
               t.name,
               "' is ",
               t.type.name,
               ' ',
               t.shape,
               " and takes ",
               t.end - t.begin,
               " bytes, but ",
               content.size(),
               " were given");
  write(content);
}

std::string SafetensorsStream::end() {
  TANDEM_ASSERT(next_ == plan_.tensors.size(), "a safetensors file ends before its last tensor");
  if (plan_.checksum == Checksum::no) return "";
  std::string digits = sum_.digits();
  file_.overwrite(kSafetensorsPrefix + sum_digits_at(plan_.header),
                  std::as_bytes(std::span(digits)));
  return digits;
}

std::vector<std::size_t> aligned_order(std::span<const StoredType> types) {
  std::vector<std::size_t> order(types.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return order_of(types[i]); });
  return order;
}

void write_safetensors(const std::string& path,
                       const std::vector<HeaderTensor>& tensors,
                       const SafetensorsMetadata& metadata,
                       const std::function<std::span<const std::byte>(std::size_t)>& bytes,
                       Checksum checksum) {
  const std::vector<std::size_t> order = file_order(tensors);
  std::vector<HeaderTensor> in_order;
  for (const std::size_t i : order)
    in_order.push_back(tensors[i]);
  const SafetensorsPlan plan(std::move(in_order), metadata, checksum);
  write_atomically(path, [&](FileWriter& file) {
    SafetensorsStream out(file, plan);
    for (const std::size_t i : order)
      out.add(bytes(i));
    out.end();
  });
}

}  // namespace tandem::detail
