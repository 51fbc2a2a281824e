// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <type_traits>

#include "tandem/runtime/stream.hpp"

#include "kernels/gemm.hpp"

namespace tandem::kernels {

/// Steps between the matrices of a batch, in elements.
struct GemmBatch {
  std::int64_t count = 1;
  std::int64_t a = 0;  ///< zero: the same for all
  std::int64_t b = 0;
  std::int64_t c = 0;
};

/// c = a @ b + bias + beta * c, of each matrix of a batch. Types of 16 bits are summed in f32. f32
/// is f32, but for the precision that `s` asks for.
///
/// @param c     row-major, step `ldc` between rows; of T, or of f32 where T has 16 bits.
/// @param bias  (n), added to each row; null: none. Then beta is zero.
template <class T, class C>
void gemm(const CudaStream& s,
          GemmSize size,
          Operand<T> a,
          Operand<T> b,
          compute_t<T> beta,
          C* c,
          std::int64_t ldc,
          const std::type_identity_t<C>* bias = nullptr,
          GemmBatch batch = {});

/// pre = a @ b + bias, y = gelu(pre) by the tanh form, in one kernel: cuBLASLt's GELU is that form.
///
/// @param bias    null: none. @param pre, y  row-major and dense.
/// @return  false, with nothing done, where the sizes or the places in memory do not allow it.
template <class T>
bool gemm_gelu(
    const CudaStream& s, GemmSize size, Operand<T> a, Operand<T> b, const T* bias, T* pre, T* y);

}  // namespace tandem::kernels
