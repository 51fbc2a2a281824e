// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/nccl/reduction.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tandem::stand_in {
namespace {

enum : int { kSum, kProduct, kMaximum, kMinimum, kAverage };

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

template <class T>
using Wide = std::conditional_t<sizeof(T) == 2, float, T>;

template <class T>
T narrow(Wide<T> x) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return BFloat16::nearest(x);
  else
    return static_cast<T>(x);
}

template <class A>
A combine(int op, A a, A b) {
  switch (op) {
    case kProduct:
      return static_cast<A>(a * b);
    case kMaximum:
      return std::max(a, b);
    case kMinimum:
      return std::min(a, b);
    default:
      return static_cast<A>(a + b);
  }
}

// By element, in the ranks' order, so that a run can be repeated.
template <class T>
bool reduce_all(int op, const std::vector<const void*>& from, void* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    auto total = static_cast<Wide<T>>(static_cast<const T*>(from[0])[i]);
    for (std::size_t r = 1; r < from.size(); ++r)
      total = combine(op, total, static_cast<Wide<T>>(static_cast<const T*>(from[r])[i]));
    if (op == kAverage) total = static_cast<Wide<T>>(total / static_cast<Wide<T>>(from.size()));
    static_cast<T*>(to)[i] = narrow<T>(total);
  }
  return true;
}

}  // namespace

std::size_t nccl_size(int type) {
  constexpr std::array<std::size_t, 10> kSizes{1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type >= 0 && type < 10 ? kSizes[static_cast<std::size_t>(type)] : 0;
}

bool reduce_elements(
    int type, int op, const std::vector<const void*>& from, void* to, std::size_t n) {
  if (op < kSum || op > kAverage) return false;
  switch (type) {
    case 0:
      return reduce_all<std::int8_t>(op, from, to, n);
    case 1:
      return reduce_all<std::uint8_t>(op, from, to, n);
    case 2:
      return reduce_all<std::int32_t>(op, from, to, n);
    case 3:
      return reduce_all<std::uint32_t>(op, from, to, n);
    case 4:
      return reduce_all<std::int64_t>(op, from, to, n);
    case 5:
      return reduce_all<std::uint64_t>(op, from, to, n);
    case 6:
      return reduce_all<_Float16>(op, from, to, n);
    case 7:
      return reduce_all<float>(op, from, to, n);
    case 8:
      return reduce_all<double>(op, from, to, n);
    case 9:
      return reduce_all<BFloat16>(op, from, to, n);
    default:
      return false;
  }
}

}  // namespace tandem::stand_in
