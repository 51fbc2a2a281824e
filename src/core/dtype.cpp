// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/core/dtype.hpp"

#include <algorithm>
#include <array>
#include <ostream>

namespace tandem {
namespace {

struct Row {
  DType type;
  const char* name;
  std::size_t itemsize;
  int rank;  // place in the promotion lattice
};

constexpr std::array<Row, 8> kTypes{{{DType::f32, "f32", 4, 5},
                                     {DType::f64, "f64", 8, 6},
                                     {DType::bf16, "bf16", 2, 4},
                                     {DType::f16, "f16", 2, 4},
                                     {DType::i32, "i32", 4, 2},
                                     {DType::i64, "i64", 8, 3},
                                     {DType::u8, "u8", 1, 1},
                                     {DType::boolean, "bool", 1, 0}}};

const Row& row(DType t) noexcept {
  return kTypes[static_cast<std::size_t>(t)];
}

}  // namespace

std::size_t itemsize(DType t) noexcept {
  return row(t).itemsize;
}
const char* name(DType t) noexcept {
  return row(t).name;
}

DType parse_dtype(std::string_view text) {
  const auto hit = std::ranges::find(kTypes, text, &Row::name);
  TANDEM_CHECK(hit != kTypes.end(),
               "dtype: '",
               text,
               "' is not one of f32, f64, bf16, f16, i32, i64, u8, bool");
  return hit->type;
}

DType promote(DType a, DType b) noexcept {
  if (a != b && is_float16(a) && is_float16(b)) return DType::f32;  // neither holds the other
  return row(a).rank >= row(b).rank ? a : b;
}

std::ostream& operator<<(std::ostream& s, DType t) {
  return s << name(t);
}

}  // namespace tandem
