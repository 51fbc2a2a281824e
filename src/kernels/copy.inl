// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Functors of copy and fill, for both backends.
#pragma once

#include <type_traits>

#include "kernels/for_each.hpp"

namespace tandem::kernels {

/// The value as another type; anything but zero is true.
template <class To>
struct Convert {
  template <class From>
  TANDEM_HD To operator()(From x) const {
    if constexpr (std::is_same_v<To, bool>) {
      return x != From(0);
    } else {
      return static_cast<To>(x);
    }
  }
};

/// The same value for all.
template <class T>
struct Constant {
  T value;
  TANDEM_HD T operator()() const { return value; }
};

/// y[i] = start + i * step.
template <class T>
struct Arange {
  double start;
  double step;
  T* y;
  std::int64_t stride;
  TANDEM_HD void operator()(std::int64_t i) const {
    y[i * stride] = Convert<T>{}(start + static_cast<double>(i) * step);
  }
};

}  // namespace tandem::kernels
