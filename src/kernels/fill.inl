// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of constants and ranges, for both backends.
#pragma once

#include "kernels/copy.inl"
#include "kernels/fill.hpp"

namespace tandem::kernels {

template <class S>
void fill_elements(const S& s, double value, const View& y) {
  with_dtype(y.dtype, [&]<class T>() { map<T>(s, Constant<T>{Convert<T>{}(value)}, y); });
}

template <class S>
void arange(const S& s, double start, double step, const View& y) {
  const std::int64_t stride = y.shape.empty() ? 1 : y.strides[0];
  with_dtype(y.dtype, [&]<class T>() {
    for_each(s, y.numel(), Arange<T>{start, step, y.as<T>(), stride});
  });
}

}  // namespace tandem::kernels
