// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>

#include "tandem/core/check.hpp"

namespace tandem {

/// Element types of a tensor.
enum class DType : std::uint8_t { f32, f64, i32, i64, u8, boolean };

/// Bytes of one element.
std::size_t itemsize(DType t) noexcept;
/// "f32", "f64", "i32", "i64", "u8", "bool".
const char* name(DType t) noexcept;
/// @throws InvalidArgument  `text` is none of the names above.
DType parse_dtype(std::string_view text);
constexpr bool is_float(DType t) noexcept {
  return t == DType::f32 || t == DType::f64;
}
/// The type that holds both without loss of kind: bool < u8 < i32 < i64 < f32 < f64 (PyTorch's
/// lattice).
DType promote(DType a, DType b) noexcept;
std::ostream& operator<<(std::ostream& s, DType t);

template <class T>
inline constexpr bool is_element = false;
template <>
inline constexpr bool is_element<float> = true;
template <>
inline constexpr bool is_element<double> = true;
template <>
inline constexpr bool is_element<std::int32_t> = true;
template <>
inline constexpr bool is_element<std::int64_t> = true;
template <>
inline constexpr bool is_element<std::uint8_t> = true;
template <>
inline constexpr bool is_element<bool> = true;

/// A C++ type that tensors can hold.
template <class T>
concept Element = is_element<T>;

template <Element T>
constexpr DType dtype_of() noexcept {
  if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::i32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::i64;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return DType::u8;
  else
    return DType::boolean;
}

/// Calls `f.template operator()<T>()` with the C++ type of `t`.
template <class F>
decltype(auto) with_dtype(DType t, F&& f) {
  switch (t) {
    case DType::f32:
      return f.template operator()<float>();
    case DType::f64:
      return f.template operator()<double>();
    case DType::i32:
      return f.template operator()<std::int32_t>();
    case DType::i64:
      return f.template operator()<std::int64_t>();
    case DType::u8:
      return f.template operator()<std::uint8_t>();
    case DType::boolean:
      return f.template operator()<bool>();
  }
  throw InternalError("with_dtype: unknown dtype");
}

/// As with_dtype, for float types only.
template <class F>
decltype(auto) with_float(DType t, F&& f) {
  switch (t) {
    case DType::f32:
      return f.template operator()<float>();
    case DType::f64:
      return f.template operator()<double>();
    default:
      throw InvalidArgument(detail::concat("needs a float tensor (f32 or f64), got ", name(t)));
  }
}

}  // namespace tandem
