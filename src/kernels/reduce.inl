// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions, for both backends. In a functor `Partial` adds up a short run of elements in the
// fastest way, `Total` joins the partial sums without losing what they gathered.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/element.hpp"
#include "kernels/reduce.hpp"

namespace tandem::kernels {

/// Sum of the elements, or of their squares, times a scale.
template <class T, class Square = std::false_type>
struct SumOf {
  using In = T;
  using Partial = std::conditional_t<is_float_v<T>, compute_t<T>, std::int64_t>;
  using Total = std::conditional_t<is_float_v<T>, double, std::int64_t>;
  double scale = 1;

  TANDEM_HD Partial partial() const { return Partial(0); }
  TANDEM_HD Partial add(Partial a, T x) const {
    const Partial p = static_cast<Partial>(load(x));
    if constexpr (Square::value)
      return a + p * p;
    else
      return a + p;
  }
  TANDEM_HD Total total() const { return Total(0); }
  TANDEM_HD Total join(Total a, Total b) const { return a + b; }
  template <class Out>
  TANDEM_HD Out finish(Total t) const {
    if constexpr (is_float_v<T>)
      return store<Out>(t * scale);
    else
      return static_cast<Out>(t);
  }
};

/// Largest (or smallest) element; a NaN wins.
template <class T, bool kLargest>
struct Extreme {
  using In = T;
  using Partial = compute_t<T>;
  using Total = Partial;

  TANDEM_HD static Partial worst() {
    using Limits = std::numeric_limits<Partial>;
    if constexpr (Limits::has_infinity)
      return kLargest ? -Limits::infinity() : Limits::infinity();
    else
      return kLargest ? Limits::lowest() : Limits::max();
  }
  TANDEM_HD Partial partial() const { return worst(); }
  TANDEM_HD Partial add(Partial a, T x) const { return join(a, load(x)); }
  TANDEM_HD Total total() const { return worst(); }
  TANDEM_HD Total join(Total a, Total b) const {
    return (kLargest ? a > b : a < b) || a != a ? a : b;
  }
  template <class Out>
  TANDEM_HD Out finish(Total t) const {
    return store<Out>(t);
  }
};

/// The reduction of no element.
template <class Out, class Op>
struct Nothing {
  Op op;
  TANDEM_HD Out operator()() const { return op.template finish<Out>(op.total()); }
};

namespace detail {

template <class T, class Square, class S>
void typed_sum(const S& s, double scale, const View& x, const View& y) {
  const SumOf<T, Square> op{scale};
  if constexpr (is_float_v<T> && !std::is_same_v<T, double>) {
    if (y.dtype == DType::f64) return reduce<double>(s, op, x, y);
  }
  reduce<std::conditional_t<is_float_v<T>, T, std::int64_t>>(s, op, x, y);
}

}  // namespace detail

// `reduce` is that of the stream.
template <class S>
void sum(const S& s, Term term, double scale, const View& x, const View& y) {
  with_dtype(x.dtype, [&]<class T>() {
    if (term == Term::value) return detail::typed_sum<T, std::false_type>(s, scale, x, y);
    if constexpr (is_float_v<T>) detail::typed_sum<T, std::true_type>(s, scale, x, y);
  });
}

template <class S>
void extremum(const S& s, Extremum which, const View& x, const View& y) {
  const auto run = [&]<class T>() {
    if (which == Extremum::largest) return reduce<T>(s, Extreme<T, true>{}, x, y);
    reduce<T>(s, Extreme<T, false>{}, x, y);
  };
  with_dtype(x.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>)
      run.template operator()<std::uint8_t>();
    else
      run.template operator()<T>();
  });
}

}  // namespace tandem::kernels
