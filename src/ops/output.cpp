// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/output.hpp"

#include <cmath>

#include "kernels/map.hpp"
#include "tensor/view_of.hpp"

namespace tandem {

bool is_dense(const Tensor& x) {
  if (x.is_contiguous()) return true;
  // Each dimension begins where those inside of it end.
  std::int64_t expected = 1;
  Shape left = x.shape();
  while (expected < x.numel()) {
    int next = -1;
    for (int d = 0; d < x.ndim(); ++d) {
      if (left[d] != 1 && x.strides()[d] == expected) next = d;
    }
    if (next < 0) return false;
    expected *= left[next];
    left[next] = 1;
  }
  return true;
}

Tensor make_output(const Shape& shape, DType dtype, std::initializer_list<Tensor> inputs) {
  Strides strides = contiguous_strides(shape);
  for (const Tensor& x : inputs) {
    if (x.shape() != shape || !is_dense(x)) continue;
    strides = x.strides();
    break;
  }
  return empty_strided(shape, strides, dtype, inputs.begin()->device());
}

kernels::View view_as(const Tensor& x, const Shape& shape) {
  return kernels::broadcast_to(view_of(x), shape);
}

DType number_dtype(DType x, double number) noexcept {
  if (is_float(x)) return x;
  if (number != std::trunc(number)) return DType::f32;
  return x == DType::boolean && number != 0 && number != 1 ? DType::i64 : x;
}

Tensor as_float(const Tensor& x) {
  return is_float(x.dtype()) ? x : x.to(DType::f32);
}

}  // namespace tandem
