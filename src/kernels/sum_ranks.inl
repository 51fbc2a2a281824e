// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Functors of reductions over ranks, for both backends.
#pragma once

#include <type_traits>

#include "kernels/element.hpp"
#include "kernels/sum_ranks.hpp"

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

template <class T>
struct Product {
  TANDEM_HD T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a * b;
    } else if constexpr (std::is_same_v<T, bool>) {
      return a && b;
    } else {  // no type narrower than int: its product could overflow an int
      using U = std::conditional_t<sizeof(T) < sizeof(int), unsigned, std::make_unsigned_t<T>>;
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    }
  }
};

template <class T>
struct BitAnd {
  TANDEM_HD T operator()(T a, T b) const { return static_cast<T>(a & b); }
};

template <class T>
struct BitOr {
  TANDEM_HD T operator()(T a, T b) const { return static_cast<T>(a | b); }
};

template <class T>
struct BitXor {
  TANDEM_HD T operator()(T a, T b) const { return static_cast<T>(a ^ b); }
};

/// Calls `f(functor)` with the functor of `reduction` for elements of T; not with premul_sum, nor
/// where T has no such reduction.
template <class T, class F>
void with_reduction(Reduction reduction, F&& f) {
  using Number = compute_t<T>;
  switch (reduction) {
    case Reduction::sum:
    case Reduction::avg:
      return f(Sum<Number>{});
    case Reduction::min:
      return f(Min<Number>{});
    case Reduction::max:
      return f(Max<Number>{});
    case Reduction::product:
      return f(Product<Number>{});
    case Reduction::band:
      if constexpr (!is_float_v<T>) f(BitAnd<T>{});
      return;
    case Reduction::bor:
      if constexpr (!is_float_v<T>) f(BitOr<T>{});
      return;
    case Reduction::bxor:
      if constexpr (!is_float_v<T>) f(BitXor<T>{});
      return;
    case Reduction::premul_sum:
      return;
  }
}

}  // namespace tandem::kernels
