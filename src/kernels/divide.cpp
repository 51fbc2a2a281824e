// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/divide.hpp"

#include "kernels/divide.inl"

namespace tandem::kernels {

void divide(DType dtype, void* x, double divisor, std::int64_t begin, std::int64_t end) {
  with_dtype(dtype, [&]<class T>() {
    if constexpr (is_float_v<T>) {
      const Divide<T> f{static_cast<T*>(x), static_cast<compute_t<T>>(divisor)};
      for (std::int64_t i = begin; i < end; ++i)
        f(i);
    }
  });
}

}  // namespace tandem::kernels
