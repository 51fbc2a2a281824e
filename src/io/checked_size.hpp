// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "tandem/core/dtype.hpp"
#include "tandem/core/shape.hpp"

namespace tandem::detail {

/// Bytes of a dense array; nothing where sizes, or strides (which take an empty dimension as one),
/// overflow.
inline std::optional<std::uint64_t> checked_nbytes(DType dtype, const Shape& shape) {
  auto span = static_cast<std::int64_t>(itemsize(dtype));
  bool empty = false;
  for (const std::int64_t size : shape) {
    empty = empty || size == 0;
    if (size < 0 || __builtin_mul_overflow(span, std::max<std::int64_t>(size, 1), &span))
      return std::nullopt;
  }
  return empty ? 0 : static_cast<std::uint64_t>(span);
}

}  // namespace tandem::detail
