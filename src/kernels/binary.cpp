// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/copy.inl"
#include "kernels/elementwise.hpp"
#include "kernels/pointwise.hpp"
#include "kernels/pointwise.inl"

namespace tandem::kernels {
namespace {

template <class T>
void typed_binary(const HostStream& s, Binary op, const View& a, const View& b, const View& y) {
  switch (op) {
    case Binary::add:
      return map<T, T, T>(s, Add{}, y, a, b);
    case Binary::sub:
      return map<T, T, T>(s, Sub{}, y, a, b);
    case Binary::mul:
      return map<T, T, T>(s, Mul{}, y, a, b);
    case Binary::maximum:
      return map<T, T, T>(s, Maximum{}, y, a, b);
    case Binary::minimum:
      return map<T, T, T>(s, Minimum{}, y, a, b);
    case Binary::div:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) map<T, T, T>(s, Div{}, y, a, b);
}

}  // namespace

void binary(const HostStream& s, Binary op, const View& a, const View& b, const View& y) {
  with_dtype(y.dtype, [&]<class T>() { typed_binary<T>(s, op, a, b, y); });
}

void binary(const HostStream& s, Binary op, const View& a, double b, const View& y) {
  with_dtype(y.dtype, [&]<class T>() {
    T number = Convert<T>{}(b);
    const View view{&number, y.dtype, y.shape, Strides::filled(y.shape.size(), 0)};
    typed_binary<T>(s, op, a, view, y);
  });
}

void scaled_add(const HostStream& s, const View& a, const View& b, double alpha, const View& y) {
  with_dtype(y.dtype,
             [&]<class T>() { map<T, T, T>(s, ScaledAdd<T>{Convert<T>{}(alpha)}, y, a, b); });
}

void where(
    const HostStream& s, const View& condition, const View& a, const View& b, const View& y) {
  with_dtype(y.dtype,
             [&]<class T>() { map<T, std::uint8_t, T, T>(s, Where{}, y, condition, a, b); });
}

void compare(const HostStream& s, Compare op, const View& a, const View& b, const View& y) {
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
