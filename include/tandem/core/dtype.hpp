// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>

#include "tandem/core/check.hpp"
#include "tandem/core/float16.hpp"

namespace tandem {

/// Element types of a tensor.
enum class DType : std::uint8_t { f32, f64, bf16, f16, i32, i64, u8, boolean };

/// Bytes of one element.
std::size_t itemsize(DType t) noexcept;
/// "f32", "f64", "bf16", "f16", "i32", "i64", "u8", "bool".
const char* name(DType t) noexcept;
/// @throws InvalidArgument  `text` is not one of the names above.
DType parse_dtype(std::string_view text);
constexpr bool is_float(DType t) noexcept {
  return t <= DType::f16;
}
/// Whether `t` is bf16 or f16: floats that are stored in 16 bits and computed in f32.
constexpr bool is_float16(DType t) noexcept {
  return t == DType::bf16 || t == DType::f16;
}
/// The type in which elements of type `t` are computed: f32 for bf16 and f16, else `t`.
constexpr DType compute_dtype(DType t) noexcept {
  return is_float16(t) ? DType::f32 : t;
}
/// The common type of operands of types `a` and `b`: the higher one in the order bool < u8 < i32 <
/// i64 < bf16, f16 < f32 < f64. bf16 with f16 gives f32 (PyTorch's lattice).
DType promote(DType a, DType b) noexcept;
std::ostream& operator<<(std::ostream& s, DType t);

template <class T>
inline constexpr bool is_element = false;
template <>
inline constexpr bool is_element<float> = true;
template <>
inline constexpr bool is_element<double> = true;
template <>
inline constexpr bool is_element<BFloat16> = true;
template <>
inline constexpr bool is_element<Half> = true;
template <>
inline constexpr bool is_element<std::int32_t> = true;
template <>
inline constexpr bool is_element<std::int64_t> = true;
template <>
inline constexpr bool is_element<std::uint8_t> = true;
template <>
inline constexpr bool is_element<bool> = true;

/// A C++ type that a tensor's elements can have.
template <class T>
concept Element = is_element<T>;

template <Element T>
constexpr DType dtype_of() noexcept {
  if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return DType::bf16;
  else if constexpr (std::is_same_v<T, Half>)
    return DType::f16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::i32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::i64;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return DType::u8;
  else
    return DType::boolean;
}

/// Whether T is a float of any width. std::is_floating_point does not know the 16-bit types.
template <class T>
inline constexpr bool is_float_v =
    std::is_floating_point_v<T> || std::is_same_v<T, BFloat16> || std::is_same_v<T, Half>;

/// The C++ type in which elements of type T are computed: float for the 16-bit floats, else T.
template <class T>
using compute_t = std::conditional_t<is_float_v<T> && sizeof(T) == 2, float, T>;

/// Calls `f.template operator()<T>()` with the C++ type of `t`.
template <class F>
decltype(auto) with_dtype(DType t, F&& f) {
  switch (t) {
    case DType::f32:
      return f.template operator()<float>();
    case DType::f64:
      return f.template operator()<double>();
    case DType::bf16:
      return f.template operator()<BFloat16>();
    case DType::f16:
      return f.template operator()<Half>();
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

/// Like with_dtype, but only for float types.
///
/// @throws InvalidArgument  `t` is not a float type.
template <class F>
decltype(auto) with_any_float(DType t, F&& f) {
  switch (t) {
    case DType::f32:
      return f.template operator()<float>();
    case DType::f64:
      return f.template operator()<double>();
    case DType::bf16:
      return f.template operator()<BFloat16>();
    case DType::f16:
      return f.template operator()<Half>();
    default:
      throw InvalidArgument(detail::concat("needs a float tensor, got ", name(t)));
  }
}

/// Like with_dtype, but only for f32 and f64.
///
/// @throws InvalidArgument  `t` is another type.
template <class F>
decltype(auto) with_float(DType t, F&& f) {
  switch (t) {
    case DType::f32:
      return f.template operator()<float>();
    case DType::f64:
      return f.template operator()<double>();
    default:
      throw InvalidArgument(detail::concat("needs a tensor of f32 or f64, got ",
                                           name(t),
                                           is_float(t) ? "; convert it with .to(DType::f32)" : ""));
  }
}

}  // namespace tandem
