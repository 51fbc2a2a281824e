// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/core/dtype.hpp"
#include "tandem/core/shape.hpp"

namespace tandem::kernels {

/// What a kernel sees of a tensor: a pointer to the first element, sizes and strides.
struct View {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;

  std::int64_t numel() const noexcept { return tandem::numel(shape); }
  bool contiguous() const noexcept { return is_contiguous(shape, strides); }
  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data);
  }
};

/// `x` without dimension `dim`: its elements are the starts of lines along it.
inline View without_dim(const View& x, int dim) {
  View v = x;
  v.shape.erase(dim);
  v.strides.erase(dim);
  return v;
}

/// `x` as one of `shape` that stays at the start of dimension `dim`: an index decides on the place
/// there.
inline View without_step(const View& x, int dim, const Shape& shape) {
  View v = x;
  v.shape = shape;
  v.strides[dim] = 0;
  return v;
}

}  // namespace tandem::kernels
