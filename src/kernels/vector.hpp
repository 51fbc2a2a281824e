// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

namespace tandem::kernels {

/// Bytes of a vector register of the machine that this is compiled for.
inline constexpr std::int64_t kVectorBytes = __BIGGEST_ALIGNMENT__;

/// Elements of a vector register.
template <class T>
inline constexpr std::int64_t kLanes = kVectorBytes / static_cast<std::int64_t>(sizeof(T));

/// n rounded up to whole vectors.
template <class T>
constexpr std::int64_t whole_vectors(std::int64_t n) {
  return (n + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

namespace detail {
template <class T, std::int64_t N>
struct VectorOf {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
}  // namespace detail

/// N elements, at most a register of them, with element-wise arithmetic.
template <class T, std::int64_t N = kLanes<T>>
using Vector = typename detail::VectorOf<T, N>::type;

/// The vector at `p`, which need not be aligned.
template <class T, std::int64_t N = kLanes<T>>
Vector<T, N> load(const T* p) {
  Vector<T, N> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class T, std::int64_t N = kLanes<T>>
void store(const Vector<T, N>& v, T* p) {
  std::memcpy(p, &v, sizeof v);
}

}  // namespace tandem::kernels
