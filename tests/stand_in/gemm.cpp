// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The stand-in's GEMM, in place of cuBLASLt's: the host's, in the stream's order.

#include "kernels/cuda/gemm.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/gelu.inl"
#include "stand_in/control.hpp"

namespace tandem::kernels {

namespace {

template <class T, class C>
void multiply(GemmSize size,
              Operand<T> a,
              Operand<T> b,
              compute_t<T> beta,
              C* c,
              std::int64_t ldc,
              const C* bias) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    for (std::int64_t r = 0; bias != nullptr && r < size.m; ++r)
      std::copy_n(bias, size.n, c + r * ldc);
    gemm_serial<T>(size, a, b, bias == nullptr ? beta : T(1), c, ldc);
  } else {
    for (std::int64_t r = 0; r < size.m; ++r) {
      for (std::int64_t j = 0; j < size.n; ++j) {
        C& y = c[r * ldc + j];
        float sum = beta == 0 ? 0.0F : beta * y;
        if (bias != nullptr) sum = bias[j];
        for (std::int64_t k = 0; k < size.k; ++k)
          sum += *a.at(r, k).data * *b.at(k, j).data;
        y = C(sum);
      }
    }
  }
}

}  // namespace

template <class T, class C>
void gemm(const CudaStream& s,
          GemmSize size,
          Operand<T> a,
          Operand<T> b,
          compute_t<T> beta,
          C* c,
          std::int64_t ldc,
          const std::type_identity_t<C>* bias,
          GemmBatch batch) {
  stand_in::launch(s.native, [=] {
    for (std::int64_t i = 0; i < batch.count; ++i) {
      multiply(size,
               Operand<T>{a.data + i * batch.a, a.layout},
               Operand<T>{b.data + i * batch.b, b.layout},
               beta,
               c + i * batch.c,
               ldc,
               bias);
    }
  });
}

template <class T>
bool gemm_gelu(
    const CudaStream& s, GemmSize size, Operand<T> a, Operand<T> b, const T* bias, T* pre, T* y) {
  if (size.n % 8 != 0) return false;  // as cuBLASLt's
  gemm<T>(s, size, a, b, 0, pre, size.n, bias, {});
  stand_in::launch(s.native, [=] {
    for (std::int64_t i = 0; i < size.m * size.n; ++i)
      y[i] = T(GeluTanh{}(static_cast<compute_t<T>>(pre[i])));
  });
  return true;
}

}  // namespace tandem::kernels

#include "kernels/cuda/gemm_instances.inl"
