// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/integer_bounds.hpp"

#include <algorithm>
#include <span>

#include "tandem/core/check.hpp"

namespace tandem::kernels {
namespace {

template <class T>
IntegerBounds bounds_of(std::span<const T> x) {
  T least = x.front(), greatest = x.front();
  for (const T value : x) {
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  T next_to_least = greatest, next_to_greatest = least;
  for (const T value : x) {
    if (value != least) next_to_least = std::min(next_to_least, value);
    if (value != greatest) next_to_greatest = std::max(next_to_greatest, value);
  }
  return {least, greatest, next_to_least, next_to_greatest};
}

template <class T>
IntegerBounds bounds_of(const View& x) {
  return bounds_of(std::span(x.as<const T>(), static_cast<std::size_t>(x.numel())));
}

}  // namespace

IntegerBounds integer_bounds(const HostStream&, const View& x) {
  switch (x.dtype) {
    case DType::u8:
      return bounds_of<std::uint8_t>(x);
    case DType::i32:
      return bounds_of<std::int32_t>(x);
    case DType::i64:
      return bounds_of<std::int64_t>(x);
    default:
      TANDEM_ASSERT(false, "bounds of ", x.dtype);
      return {};
  }
}

}  // namespace tandem::kernels
