// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Comparisons and choices, for both backends: `map` is that of the stream.
#pragma once

#include "kernels/compare.hpp"

namespace tandem::kernels {

struct Where {
  template <class T>
  TANDEM_HD T operator()(std::uint8_t condition, T a, T b) const {
    return condition != 0 ? a : b;
  }
};

struct Equal {
  template <class T>
  TANDEM_HD bool operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  TANDEM_HD bool operator()(T a, T b) const {
    return a != b;
  }
};
struct Less {
  template <class T>
  TANDEM_HD bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  TANDEM_HD bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct IsFinite {
  template <class T>
  TANDEM_HD bool operator()(T x) const {
    return x - x == T(0);
  }
};

template <class S>
void is_finite(const S& s, const View& x, const View& y) {
  with_any_float(x.dtype, [&]<class T>() { map<bool, T>(s, IsFinite{}, y, x); });
}

template <class S>
void where(const S& s, const View& condition, const View& a, const View& b, const View& y) {
  with_dtype(y.dtype,
             [&]<class T>() { map<T, std::uint8_t, T, T>(s, Where{}, y, condition, a, b); });
}

template <class S>
void compare(const S& s, Compare op, const View& a, const View& b, const View& y) {
  with_dtype(a.dtype, [&]<class T>() {
    switch (op) {
      case Compare::equal:
        return map<bool, T, T>(s, Equal{}, y, a, b);
      case Compare::not_equal:
        return map<bool, T, T>(s, NotEqual{}, y, a, b);
      case Compare::less:
        return map<bool, T, T>(s, Less{}, y, a, b);
      case Compare::less_equal:
        return map<bool, T, T>(s, LessEqual{}, y, a, b);
    }
  });
}

}  // namespace tandem::kernels
