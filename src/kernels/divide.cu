// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/launch.hpp"
#include "kernels/divide.hpp"
#include "kernels/divide.inl"

namespace tandem::kernels {

void divide(const CudaStream& s,
            DType dtype,
            void* x,
            double divisor,
            std::int64_t begin,
            std::int64_t end) {
  with_dtype(dtype, [&]<class T>() {
    if constexpr (is_float_v<T>) {
      const auto from = static_cast<T*>(x) + begin;
      for_each(s, end - begin, Divide<T>{from, static_cast<compute_t<T>>(divisor)});
    }
  });
}

}  // namespace tandem::kernels
