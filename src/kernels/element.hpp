// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "tandem/core/dtype.hpp"

#include "kernels/for_each.hpp"

// Between an element as it is stored and the number that kernels compute with: the same but for
// types of 16 bits.
namespace tandem::kernels {

template <class T>
TANDEM_HD constexpr compute_t<T> load(T x) {
  return static_cast<compute_t<T>>(x);
}

template <class T, class Number>
TANDEM_HD constexpr T store(Number x) {
  if constexpr (std::is_same_v<T, Number> || std::is_same_v<T, compute_t<T>>)
    return static_cast<T>(x);
  else
    return T(static_cast<float>(x));
}

}  // namespace tandem::kernels
