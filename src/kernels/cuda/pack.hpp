// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/for_each.hpp"

namespace tandem::kernels {

/// Bytes that one instruction of a GPU reads or writes, at most.
inline constexpr int kPackBytes = 16;

/// Neighbouring elements that a GPU reads or writes by one instruction.
template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth) Pack {
  T elements[kWidth];
};

/// Elements of packs of several types: as many as there are of the widest type.
template <class... T>
inline constexpr int pack_width = kPackBytes / static_cast<int>(std::max({sizeof(T)...}));

/// A pack may begin at `p`.
template <int kWidth, class T>
bool is_packed(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % (sizeof(T) * kWidth) == 0;
}

/// The pack that begins at `p`.
template <int kWidth, class T>
TANDEM_HD Pack<T, kWidth>& pack_at(T* p) {
  return *reinterpret_cast<Pack<T, kWidth>*>(p);
}
template <int kWidth, class T>
TANDEM_HD const Pack<T, kWidth>& pack_at(const T* p) {
  return *reinterpret_cast<const Pack<T, kWidth>*>(p);
}

}  // namespace tandem::kernels
