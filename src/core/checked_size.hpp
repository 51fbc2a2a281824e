// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/core/dtype.hpp"
#include "tandem/core/shape.hpp"

namespace tandem {

/// A size under calculation: a sum, difference or product that 64 bits do not hold throws.
///
/// For sizes that a caller gives; those of a tensor are known to fit.
class CheckedSize {
 public:
  /// @param op  named in the error.
  CheckedSize(const char* op, std::int64_t value) noexcept : op_(op), value_(value) {}

  std::int64_t value() const noexcept { return value_; }
  /// @throws InvalidArgument  the result does not fit; the text has the op and both numbers.
  CheckedSize operator+(std::int64_t other) const;
  CheckedSize operator-(std::int64_t other) const;
  CheckedSize operator*(std::int64_t other) const;
  CheckedSize operator+(const CheckedSize& other) const { return *this + other.value_; }
  CheckedSize operator-(const CheckedSize& other) const { return *this - other.value_; }

 private:
  const char* op_;
  std::int64_t value_;
};

namespace detail {

/// Bytes of a dense array; nothing where a size is negative, or the bytes, or the strides (which
/// take an empty dimension as one), do not fit in 63 bits.
std::optional<std::uint64_t> checked_nbytes(DType dtype, const Shape& shape) noexcept;

/// The same. @throws InvalidArgument  there is nothing; the text has the op and the shape.
std::uint64_t nbytes_of(const char* op, DType dtype, const Shape& shape);

}  // namespace detail
}  // namespace tandem
