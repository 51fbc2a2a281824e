// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/ops/unary.hpp"
#include "tandem/tensor/tensor.hpp"

// Elementwise ops with NumPy's broadcasting. All float ops are twice differentiable. Operands of
// different dtypes are promoted (tandem::promote). A C++ number takes the tensor's dtype, but an
// integer tensor and a fractional number give f32. Errors name both shapes or both devices.
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
/// x^exponent of two tensors. The gradient of the exponent is zero where x is zero.
Tensor pow(const Tensor& x, const Tensor& exponent);
/// Limits x to [min, max]. An infinite bound has no effect, and NaN stays NaN. If min > max, the
/// result is `max`.
///
/// The gradient is one strictly between the bounds, and zero at the bounds and beyond.
Tensor clamp(const Tensor& x, double min, double max);
/// The same with bounds that are tensors and broadcast. An undefined bound has no effect.
///
/// Computed by maximum and minimum: the gradient goes to the value that was taken, and half of it
/// to each where two are equal.
Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max);

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

}  // namespace tandem
