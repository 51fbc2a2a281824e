// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "io/stored_type.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "tandem/core/check.hpp"

#include "core/checked_size.hpp"

namespace tandem::detail {
namespace {

// A dtype is written as the first of the types that are read as it.
constexpr std::array kStoredTypes{StoredType{"F32", 32, DType::f32},
                                  StoredType{"F64", 64, DType::f64},
                                  StoredType{"BF16", 16, DType::bf16},
                                  StoredType{"F16", 16, DType::f16},
                                  StoredType{"I32", 32, DType::i32},
                                  StoredType{"I64", 64, DType::i64},
                                  StoredType{"U8", 8, DType::u8},
                                  StoredType{"BOOL", 8, DType::boolean},
                                  StoredType{"I8", 8, DType::i32},
                                  StoredType{"I16", 16, DType::i32},
                                  StoredType{"U16", 16, DType::i32},
                                  StoredType{"U32", 32, DType::i64},
                                  StoredType{"U64", 64, DType::i64},
                                  StoredType{"F8_E4M3", 8, DType::f32},
                                  StoredType{"F8_E5M2", 8, DType::f32},
                                  StoredType{"F8_E8M0", 8, DType::f32},
                                  StoredType{"F8_E4M3FNUZ", 8},
                                  StoredType{"F8_E5M2FNUZ", 8},
                                  StoredType{"F6_E2M3", 6},
                                  StoredType{"F6_E3M2", 6},
                                  StoredType{"F4", 4},
                                  StoredType{"C64", 64}};

/// Each `From` of `bytes` as the `To` that `f` makes of it.
template <class From, class To, class F>
void convert_each(std::span<const std::byte> bytes, HostArray& to, F f) {
  for (To& out : to.values<To>()) {
    From in{};
    std::memcpy(&in, bytes.data(), sizeof in);
    bytes = bytes.subspan(sizeof in);
    out = f(in);
  }
}

template <class From, class To>
void widen(std::span<const std::byte> bytes, HostArray& to) {
  convert_each<From, To>(bytes, to, [](From x) { return static_cast<To>(x); });
}

/// One sign bit, `exponent` and `mantissa` bits with the exponent's usual bias.
float small_float(std::uint8_t x, int exponent, int mantissa) {
  const int bias = (1 << (exponent - 1)) - 1, e = (x >> mantissa) & ((1 << exponent) - 1);
  const int m = x & ((1 << mantissa) - 1);
  const float part = static_cast<float>(m) / static_cast<float>(1 << mantissa);
  const float size = e == 0 ? std::ldexp(part, 1 - bias) : std::ldexp(1 + part, e - bias);
  return (x & 0x80) != 0 ? -size : size;
}

/// No infinity, and one NaN of each sign (Micikevicius et al., "FP8 formats for deep learning").
float from_e4m3(std::uint8_t x) {
  return (x & 0x7F) == 0x7F ? std::numeric_limits<float>::quiet_NaN() : small_float(x, 4, 3);
}

float from_e5m2(std::uint8_t x) {
  if ((x & 0x7F) > 0x7C) return std::numeric_limits<float>::quiet_NaN();
  if ((x & 0x7F) == 0x7C) return (x & 0x80) != 0 ? -HUGE_VALF : HUGE_VALF;
  return small_float(x, 5, 2);
}

/// A power of two (OCP Microscaling Formats, version 1.0).
float from_e8m0(std::uint8_t x) {
  return x == 0xFF ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0F, x - 127);
}

bool fits_i64(std::span<const std::byte> bytes) {
  // The bit that only numbers from 2^63 on have is the highest of each last byte.
  for (std::size_t i = 7; i < bytes.size(); i += 8)
    if ((bytes[i] & std::byte{0x80}) != std::byte{0}) return false;
  return true;
}

}  // namespace

const StoredType* stored_type(std::string_view name) noexcept {
  const auto* const hit = std::ranges::find(kStoredTypes, name, &StoredType::name);
  return hit == kStoredTypes.end() ? nullptr : hit;
}

const StoredType& stored_type(DType dtype) noexcept {
  return *std::ranges::find(kStoredTypes, dtype, &StoredType::held);
}

std::string read_types() {
  std::string names;
  for (const StoredType& type : kStoredTypes)
    if (type.held) names.append(names.empty() ? "" : ", ").append(type.name);
  return names;
}

std::optional<std::uint64_t> stored_nbytes(const StoredType& type, const Shape& shape) noexcept {
  if (type.held && type.bits == static_cast<int>(8 * itemsize(*type.held)))
    return checked_nbytes(*type.held, shape);
  const std::optional<std::uint64_t> count = checked_nbytes(DType::u8, shape);
  std::int64_t bits = 0;
  if (!count || __builtin_mul_overflow(static_cast<std::int64_t>(*count), type.bits, &bits))
    return std::nullopt;
  return bits % 8 == 0 ? std::optional(static_cast<std::uint64_t>(bits / 8)) : std::nullopt;
}

std::optional<HostArray> widened(const StoredType& type,
                                 const Shape& shape,
                                 std::span<const std::byte> bytes) {
  TANDEM_ASSERT(type.held, "widened: ", type.name);
  if (type.name == "U64" && !fits_i64(bytes)) return std::nullopt;
  HostArray to(*type.held, shape);
  if (type.name == "I8") widen<std::int8_t, std::int32_t>(bytes, to);
  if (type.name == "I16") widen<std::int16_t, std::int32_t>(bytes, to);
  if (type.name == "U16") widen<std::uint16_t, std::int32_t>(bytes, to);
  if (type.name == "U32") widen<std::uint32_t, std::int64_t>(bytes, to);
  if (type.name == "U64") widen<std::uint64_t, std::int64_t>(bytes, to);
  if (type.name == "F8_E4M3") convert_each<std::uint8_t, float>(bytes, to, from_e4m3);
  if (type.name == "F8_E5M2") convert_each<std::uint8_t, float>(bytes, to, from_e5m2);
  if (type.name == "F8_E8M0") convert_each<std::uint8_t, float>(bytes, to, from_e8m0);
  return to;
}

}  // namespace tandem::detail
