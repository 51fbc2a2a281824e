// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The stand-in's GEMM, in place of cuBLASLt's: the host's, in the stream's order.

#include "kernels/cuda/gemm.hpp"

#include <algorithm>

#include "stand_in/control.hpp"

namespace tandem::kernels {

template <class T>
void gemm(const CudaStream& s,
          GemmSize size,
          Operand<T> a,
          Operand<T> b,
          T beta,
          T* c,
          std::int64_t ldc,
          const T* bias,
          GemmBatch batch) {
  stand_in::launch(s.native, [=] {
    for (std::int64_t i = 0; i < batch.count; ++i) {
      T* const out = c + i * batch.c;
      for (std::int64_t r = 0; bias != nullptr && r < size.m; ++r)
        std::copy_n(bias, size.n, out + r * ldc);
      gemm_serial<T>(size,
                     {a.data + i * batch.a, a.layout},
                     {b.data + i * batch.b, b.layout},
                     bias == nullptr ? beta : T(1),
                     out,
                     ldc);
    }
  });
}

template void gemm(const CudaStream&,
                   GemmSize,
                   Operand<float>,
                   Operand<float>,
                   float,
                   float*,
                   std::int64_t,
                   const float*,
                   GemmBatch);
template void gemm(const CudaStream&,
                   GemmSize,
                   Operand<double>,
                   Operand<double>,
                   double,
                   double*,
                   std::int64_t,
                   const double*,
                   GemmBatch);

}  // namespace tandem::kernels
