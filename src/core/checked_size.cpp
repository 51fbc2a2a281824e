// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "core/checked_size.hpp"

#include <algorithm>

#include "tandem/core/check.hpp"

namespace tandem {
namespace {

[[noreturn]] void refuse(const char* op, std::int64_t a, char sign, std::int64_t b) {
  throw InvalidArgument(detail::concat(
      op, ": ", a, ' ', sign, ' ', b, " does not fit in 64 bits; give smaller sizes"));
}

}  // namespace

CheckedSize CheckedSize::operator+(std::int64_t other) const {
  std::int64_t result = 0;
  if (__builtin_add_overflow(value_, other, &result)) refuse(op_, value_, '+', other);
  return {op_, result};
}

CheckedSize CheckedSize::operator-(std::int64_t other) const {
  std::int64_t result = 0;
  if (__builtin_sub_overflow(value_, other, &result)) refuse(op_, value_, '-', other);
  return {op_, result};
}

CheckedSize CheckedSize::operator*(std::int64_t other) const {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(value_, other, &result)) refuse(op_, value_, '*', other);
  return {op_, result};
}

namespace detail {

std::optional<std::uint64_t> checked_nbytes(DType dtype, const Shape& shape) noexcept {
  auto span = static_cast<std::int64_t>(itemsize(dtype));
  bool empty = false;
  for (const std::int64_t size : shape) {
    empty = empty || size == 0;
    if (size < 0 || __builtin_mul_overflow(span, std::max<std::int64_t>(size, 1), &span))
      return std::nullopt;
  }
  return empty ? 0 : static_cast<std::uint64_t>(span);
}

std::uint64_t nbytes_of(const char* op, DType dtype, const Shape& shape) {
  const std::optional<std::uint64_t> nbytes = checked_nbytes(dtype, shape);
  if (nbytes) [[likely]]
    return *nbytes;
  TANDEM_CHECK(std::ranges::none_of(shape, [](std::int64_t size) { return size < 0; }),
               op,
               ": shape ",
               shape,
               " has a negative size");
  throw InvalidArgument(concat(op,
                               ": shape ",
                               shape,
                               " of ",
                               dtype,
                               " takes more bytes than 63 bits can count; give smaller sizes"));
}

}  // namespace detail
}  // namespace tandem
