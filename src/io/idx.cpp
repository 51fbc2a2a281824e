// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/io/idx.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "tandem/core/check.hpp"

#include "core/checked_size.hpp"
#include "io/byte_source.hpp"

namespace tandem {
namespace {

using detail::ByteSource;

std::uint32_t big_endian(std::span<const std::byte, 4> b) {
  std::uint32_t value = 0;
  for (const std::byte x : b)
    value = value << 8 | std::to_integer<std::uint32_t>(x);
  return value;
}

DType read_type(const ByteSource& source, std::byte code) {
  switch (std::to_integer<int>(code)) {
    case 0x08:
      return DType::u8;
    case 0x0C:
      return DType::i32;
    case 0x0D:
      return DType::f32;
    case 0x0E:
      return DType::f64;
    default:
      break;
  }
  source.fail(2,
              detail::concat("IDX type ",
                             std::to_integer<int>(code),
                             " is not one of 8 (u8), 12 (i32), 13 (f32), 14 (f64)"));
}

Shape read_shape(ByteSource& source, int dims) {
  Shape shape = Dims::filled(dims, 0);
  for (std::int64_t& size : shape) {
    std::array<std::byte, 4> raw{};
    source.read(raw);
    size = big_endian(raw);
  }
  return shape;
}

/// Bytes that follow the header, once they are known to be possible.
std::size_t promised_bytes(const ByteSource& source,
                           const IdxHeader& file,
                           std::uint64_t most_bytes) {
  const std::string sizes = detail::concat("IDX sizes ", file.shape, " of ", file.dtype);
  const std::optional<std::uint64_t> nbytes = detail::checked_nbytes(file.dtype, file.shape);
  if (!nbytes) source.fail(4, sizes + " overflow 63 bits");
  const std::uint64_t header = 4 + 4 * static_cast<std::uint64_t>(file.shape.size());
  const std::uint64_t possible = source.most() - std::min(source.most(), header);
  if (*nbytes > possible) {
    source.fail(4,
                detail::concat(
                    sizes, " call for ", *nbytes, " bytes, but at most ", possible, " can follow"));
  }
  if (*nbytes > most_bytes) {
    source.fail(4,
                detail::concat(sizes,
                               " take ",
                               *nbytes,
                               " bytes, but the limit is ",
                               most_bytes,
                               "; pass a higher limit to read_idx"));
  }
  return static_cast<std::size_t>(*nbytes);
}

/// Swaps the bytes of each element in place; a file is big endian.
template <class Word>
void swap_words(std::span<std::byte> bytes) {
  for (std::size_t i = 0; i + sizeof(Word) <= bytes.size(); i += sizeof(Word)) {
    Word word{};
    std::memcpy(&word, bytes.data() + i, sizeof word);
    if constexpr (sizeof(Word) == 4)
      word = __builtin_bswap32(word);
    else
      word = __builtin_bswap64(word);
    std::memcpy(bytes.data() + i, &word, sizeof word);
  }
}

void to_host_order(std::span<std::byte> bytes, std::size_t itemsize) {
  if constexpr (std::endian::native == std::endian::little) {
    if (itemsize == 4) swap_words<std::uint32_t>(bytes);
    if (itemsize == 8) swap_words<std::uint64_t>(bytes);
  }
}

IdxHeader read_header(ByteSource& source) {
  std::array<std::byte, 4> magic{};
  source.read(magic);
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0}) {
    source.fail(0, "not an IDX file: it does not begin with two zero bytes");
  }
  const DType dtype = read_type(source, magic[2]);
  const int dims = std::to_integer<int>(magic[3]);
  if (dims < 1 || dims > kMaxDims) {
    source.fail(3,
                detail::concat("an IDX array of ", dims, " dimensions; expected 1 to ", kMaxDims));
  }
  return {dtype, read_shape(source, dims)};
}

}  // namespace

IdxHeader read_idx_header(const std::string& path) {
  return read_header(*detail::open_source(path));
}

HostArray read_idx(const std::string& path, std::uint64_t most_bytes) {
  const std::unique_ptr<ByteSource> source = detail::open_source(path);
  const IdxHeader header = read_header(*source);
  HostArray file;
  file.dtype = header.dtype;
  file.shape = header.shape;
  file.bytes = source->read_many(promised_bytes(*source, header, most_bytes));
  source->expect_end();
  to_host_order(file.bytes, itemsize(file.dtype));
  return file;
}

}  // namespace tandem
