// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

// Element by element, with NumPy's broadcasting. All float ops are differentiable, twice too.
// Operands of different dtypes are promoted (tandem::promote); a C++ number takes the tensor's
// dtype (an integer tensor and a fractional number give f32). Errors name both shapes or devices.
namespace tandem {

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
/// True division; integers give f32.
Tensor div(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, double b);
Tensor mul(const Tensor& a, double b);
/// x^exponent.
Tensor pow(const Tensor& x, double exponent);
/// x^exponent of two tensors. The gradient of the exponent is zero where x is.
Tensor pow(const Tensor& x, const Tensor& exponent);
/// Not below `min` nor above `max` (infinities: no bound); NaN stays. `max` wins where they cross.
///
/// The gradient is one between the bounds, zero at them and beyond.
Tensor clamp(const Tensor& x, double min, double max);
/// The same by tensors, which broadcast; undefined: no bound. As maximum and minimum: what is taken
/// gets the gradient, half of it where two are equal.
Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max);

Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor square(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor sign(const Tensor& x);

// Comparisons give bool tensors.
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, double b);
Tensor ne(const Tensor& a, double b);
Tensor lt(const Tensor& a, double b);
Tensor le(const Tensor& a, double b);
Tensor gt(const Tensor& a, double b);
Tensor ge(const Tensor& a, double b);
Tensor isfinite(const Tensor& x);
/// a where `condition` (bool) holds, else b.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, double b);
/// x with `value` where `mask` (bool) holds.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

inline Tensor operator+(const Tensor& a, const Tensor& b) {
  return add(a, b);
}
inline Tensor operator-(const Tensor& a, const Tensor& b) {
  return sub(a, b);
}
inline Tensor operator*(const Tensor& a, const Tensor& b) {
  return mul(a, b);
}
inline Tensor operator/(const Tensor& a, const Tensor& b) {
  return div(a, b);
}
inline Tensor operator+(const Tensor& a, double b) {
  return add(a, b);
}
inline Tensor operator+(double a, const Tensor& b) {
  return add(b, a);
}
inline Tensor operator-(const Tensor& a, double b) {
  return add(a, -b);
}
inline Tensor operator-(double a, const Tensor& b) {
  return add(neg(b), a);
}
inline Tensor operator*(const Tensor& a, double b) {
  return mul(a, b);
}
inline Tensor operator*(double a, const Tensor& b) {
  return mul(b, a);
}
inline Tensor operator/(const Tensor& a, double b) {
  return mul(a, 1 / b);
}
inline Tensor operator/(double a, const Tensor& b) {
  return mul(reciprocal(b), a);
}
inline Tensor operator-(const Tensor& x) {
  return neg(x);
}

}  // namespace tandem
