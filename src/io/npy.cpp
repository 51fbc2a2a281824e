// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/io/npy.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "tandem/core/check.hpp"
#include "tandem/io/file.hpp"

#include "core/checked_size.hpp"
#include "io/byte_source.hpp"
#include "io/npy_header.hpp"

namespace tandem {
namespace {

using detail::concat;

/// Bytes of the data, once they are known to be possible.
std::size_t promised_bytes(const detail::ByteSource& source,
                           const detail::NpyHeader& header,
                           std::uint64_t most_bytes) {
  const std::string what = concat(".npy shape ", header.shape, " of ", header.dtype);
  const std::optional<std::uint64_t> nbytes = detail::checked_nbytes(header.dtype, header.shape);
  if (!nbytes) source.fail(0, what + " overflows 63 bits");
  const std::uint64_t possible = source.most() - std::min(source.most(), header.nbytes);
  if (*nbytes > possible) {
    source.fail(
        header.nbytes,
        concat(what, " calls for ", *nbytes, " bytes, but at most ", possible, " can follow"));
  }
  if (*nbytes > most_bytes) {
    source.fail(0,
                concat(what,
                       " takes ",
                       *nbytes,
                       " bytes, but the limit is ",
                       most_bytes,
                       "; pass a higher limit to read_npy"));
  }
  return static_cast<std::size_t>(*nbytes);
}

void swap_bytes(std::span<std::byte> bytes, std::size_t itemsize) {
  for (std::size_t i = 0; i + itemsize <= bytes.size(); i += itemsize)
    std::ranges::reverse(bytes.subspan(i, itemsize));
}

/// Elements whose first index runs fastest, in the order where the last one does.
std::vector<std::byte> to_row_major(std::span<const std::byte> source,
                                    const Shape& shape,
                                    std::size_t itemsize) {
  std::vector<std::byte> target(source.size());
  const int dims = shape.size();
  Dims index = Dims::filled(dims, 0);
  Dims step = Dims::filled(dims, 1);  // of the source, in elements
  for (int d = 1; d < dims; ++d)
    step[d] = step[d - 1] * shape[d - 1];
  std::int64_t from = 0;
  for (std::size_t to = 0; to < target.size(); to += itemsize) {
    std::memcpy(&target[to], &source[static_cast<std::size_t>(from) * itemsize], itemsize);
    for (int d = dims - 1; d >= 0; --d) {
      from += step[d];
      if (++index[d] < shape[d]) break;
      from -= step[d] * shape[d];
      index[d] = 0;
    }
  }
  return target;
}

void check_booleans(const detail::ByteSource& source,
                    std::span<const std::byte> bytes,
                    std::uint64_t begin) {
  const auto bad = std::ranges::find_if(bytes, [](std::byte b) { return b > std::byte{1}; });
  if (bad == bytes.end()) return;
  source.fail(begin + static_cast<std::uint64_t>(bad - bytes.begin()),
              concat("a bool is ", std::to_integer<int>(*bad), "; expected 0 or 1"));
}

}  // namespace

HostArray read_npy(const std::string& path, std::uint64_t most_bytes) {
  const std::unique_ptr<detail::ByteSource> source = detail::open_source(path);
  const detail::NpyHeader header = detail::read_npy_header(*source);
  HostArray array;
  array.dtype = header.dtype;
  array.shape = header.shape;
  array.bytes = source->read_many(promised_bytes(*source, header, most_bytes));
  source->expect_end();
  const std::size_t size = itemsize(header.dtype);
  if (header.dtype == DType::boolean) check_booleans(*source, array.bytes, header.nbytes);
  if (header.swapped) swap_bytes(array.bytes, size);
  if (header.fortran_order && header.shape.size() > 1)
    array.bytes = to_row_major(array.bytes, header.shape, size);
  return array;
}

Tensor load_npy(const std::string& path, Device device) {
  return to_tensor(read_npy(path), device);
}

void save_npy(const std::string& path, const Tensor& x) {
  TANDEM_CHECK(x.defined(), "save_npy: the tensor is undefined");
  const std::string header = detail::npy_header(x.dtype(), x.shape());
  const HostArray array = to_host_array(x);
  const std::span<const std::byte> parts[] = {
      std::as_bytes(std::span(header.data(), header.size())), array.bytes};
  write_atomically(path, parts);
}

}  // namespace tandem
