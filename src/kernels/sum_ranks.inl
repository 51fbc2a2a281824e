// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Functors of reductions over ranks, for both backends.
#pragma once

#include <type_traits>

#include "kernels/element.hpp"

namespace tandem::kernels {

template <class T>
struct Sum {
  TANDEM_HD T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a + b;
    } else if constexpr (std::is_same_v<T, bool>) {
      return a || b;
    } else {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    }
  }
};

// `b != b`: b is NaN. Where a is NaN both comparisons are false, and it stays.
template <class T>
struct Min {
  TANDEM_HD T operator()(T a, T b) const { return b < a || b != b ? b : a; }
};

template <class T>
struct Max {
  TANDEM_HD T operator()(T a, T b) const { return a < b || b != b ? b : a; }
};

}  // namespace tandem::kernels
