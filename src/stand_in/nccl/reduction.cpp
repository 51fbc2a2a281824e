// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/nccl/reduction.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace tandem::stand_in {
namespace {

/// The upper half of a float.
struct BFloat16 {
  std::uint16_t bits = 0;

  operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
  static BFloat16 nearest(float x) {
    const auto all = std::bit_cast<std::uint32_t>(x);
    if (x != x) return {static_cast<std::uint16_t>((all >> 16) | 0x40)};
    return {static_cast<std::uint16_t>((all + 0x7FFF + ((all >> 16) & 1)) >> 16)};
  }
};

/// In which values are summed.
template <class T>
using Wide =
    std::conditional_t<std::is_same_v<T, BFloat16> || std::is_same_v<T, _Float16>, float, T>;

template <class T>
T narrow(Wide<T> x) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return BFloat16::nearest(x);
  else
    return static_cast<T>(x);
}

// Whole numbers wrap, as on a GPU.
template <class A>
A sum(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}
template <class A>
A product(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<A>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}

template <class A>
A combine(int op, A a, A b) {
  switch (op) {
    case kProduct:
      return product(a, b);
    case kMaximum:
      return std::max(a, b);
    case kMinimum:
      return std::min(a, b);
    default:
      return sum(a, b);
  }
}

template <class T>
Wide<T> value(const Given& given, std::size_t i) {
  const auto x = static_cast<Wide<T>>(static_cast<const T*>(given.values)[i]);
  if (given.factor == nullptr) return x;
  return product(x, static_cast<Wide<T>>(*static_cast<const T*>(given.factor)));
}

// By element, in the ranks' order, so that a run can be repeated.
template <class T>
void reduce_all(int op, const std::vector<Given>& from, void* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    Wide<T> total = value<T>(from[0], i);
    for (std::size_t r = 1; r < from.size(); ++r)
      total = combine(op, total, value<T>(from[r], i));
    if (op == kAverage) total = static_cast<Wide<T>>(total / static_cast<Wide<T>>(from.size()));
    static_cast<T*>(to)[i] = narrow<T>(total);
  }
}

struct Type {
  const char* name;
  std::size_t size;
  void (*reduce)(int op, const std::vector<Given>& from, void* to, std::size_t n);
};

template <class T>
constexpr Type kind(const char* name) {
  return {name, sizeof(T), &reduce_all<T>};
}

// By NCCL's numbers.
constexpr std::array kTypes{kind<std::int8_t>("i8"),
                            kind<std::uint8_t>("u8"),
                            kind<std::int32_t>("i32"),
                            kind<std::uint32_t>("u32"),
                            kind<std::int64_t>("i64"),
                            kind<std::uint64_t>("u64"),
                            kind<_Float16>("f16"),
                            kind<float>("f32"),
                            kind<double>("f64"),
                            kind<BFloat16>("bf16")};
constexpr std::array kOps{"sum", "product", "maximum", "minimum", "average", "sum with factors"};

}  // namespace

std::size_t nccl_size(int type) {
  return type >= 0 && type < static_cast<int>(kTypes.size())
             ? kTypes[static_cast<std::size_t>(type)].size
             : 0;
}

const char* nccl_type_name(int type) {
  return kTypes[static_cast<std::size_t>(type)].name;
}

const char* nccl_op_name(int op) {
  return kOps[static_cast<std::size_t>(op)];
}

void reduce_elements(int type, int op, const std::vector<Given>& from, void* to, std::size_t n) {
  kTypes[static_cast<std::size_t>(type)].reduce(op, from, to, n);
}

}  // namespace tandem::stand_in
